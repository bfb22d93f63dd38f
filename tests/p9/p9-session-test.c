/* SPDX-License-Identifier: Apache-2.0
 *
 * p9-session-test - a client's session with the real daemon.
 *
 * Versions, attaching, walking, the user whose rights apply, and the sockets
 * that the daemon listens on.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/p9/p9_fixture.h"
#include "tests/p9/p9_tests.h"

/* ---- sessions ------------------------------------------------------------ */

static void test_version(struct fixture *f, gconstpointer option)
{
    g_autofree char *version = NULL, *unknown = NULL;
    uint32_t msize;

    OK(p9_version(f->client, 16384, P9_VERSION, &msize, &version));
    g_assert_cmpuint(msize, ==, 16384);
    g_assert_cmpstr(version, ==, P9_VERSION);
    OK(p9_version(f->client, UINT32_MAX, P9_VERSION, &msize, NULL));
    g_assert_cmpuint(msize, ==, P9_MAX_MSIZE);
    OK(p9_version(f->client, 8192, "9P2000", NULL, &unknown));
    g_assert_cmpstr(unknown, ==, "unknown");
    FAILS(EPROTO, p9_attach(f->client, P9_ROOT, "", 0));
    FAILS(EINVAL, p9_version(f->client, 4095, P9_VERSION, NULL, NULL));
    OK(p9_version(f->client, 4096, P9_VERSION, &msize, NULL));
    g_assert_cmpuint(msize, ==, 4096);
    OK(p9_attach(f->client, P9_ROOT, "", 0));
}

/* A new session has none of the old one's fids. */
static void test_version_again(struct fixture *f, gconstpointer option)
{
    struct stat st;

    OK(p9_stat(f->client, P9_ROOT, &st));
    OK(p9_version(f->client, 65536, P9_VERSION, NULL, NULL));
    FAILS(EBADF, p9_stat(f->client, P9_ROOT, &st));
    OK(p9_attach(f->client, P9_ROOT, "", 0));
}

/* A directory that was moved out of what was attached has no parent. */
static void test_moved_out(struct fixture *f, gconstpointer option)
{
    uint32_t inside, up;

    OK(p9_mkdir(f->client, P9_ROOT, "a", 0755));
    OK(p9_mkdir(f->client, p9_fid(f, "a"), "b", 0755));
    OK(p9_mkdir(f->client, p9_fid(f, "a/b"), "c", 0755));
    OK(p9_attach(f->client, 100, "a", 0));
    OK(p9_walk(f->client, 100, "b/c", &inside));
    OK(p9_walk(f->client, inside, "../../..", &up));
    FAILS(ENOENT, p9_walk(f->client, up, "a", &up));
    OK(p9_renameat(f->client, p9_fid(f, "a"), "b", P9_ROOT, "b"));
    FAILS(ENOENT, p9_walk(f->client, inside, "..", &up));
    FAILS(ENOENT, p9_walk(f->client, inside, "../..", &up));
    OK(p9_renameat(f->client, P9_ROOT, "b", p9_fid(f, "a"), "b"));
    OK(p9_walk(f->client, inside, "../../b/c", &up));
}

static void test_attach(struct fixture *f, gconstpointer option)
{
    g_autofree char *dir = p9_rig_path(f->rig, "a/b");
    g_autofree char *link = p9_rig_path(f->rig, "link");
    struct stat inner, up;
    uint32_t fid;

    g_assert_cmpint(g_mkdir_with_parents(dir, 0755), ==, 0);
    g_assert_cmpint(symlink("a", link), ==, 0);
    p9_host_file(f, "file", "");
    OK(p9_attach(f->client, 100, "/a//b/", 0));
    OK(p9_stat(f->client, 100, &inner));
    OK(p9_walk(f->client, 100, "../..", &fid));
    OK(p9_stat(f->client, fid, &up));
    g_assert_cmpuint(up.st_ino, ==, inner.st_ino); /* stays there */
    FAILS(EINVAL, p9_attach(f->client, 101, "a/../..", 0));
    FAILS(ENOENT, p9_attach(f->client, 101, "none", 0));
    FAILS(ENOTDIR, p9_attach(f->client, 101, "file", 0));
    FAILS(ENOTDIR, p9_attach(f->client, 101, "link", 0));
    FAILS(EBADF, p9_attach(f->client, P9_ROOT, "", 0)); /* in use */
    FAILS(EBADF, p9_attach(f->client, P9_NO_FID, "", 0));
}

static void test_auth(struct fixture *f, gconstpointer option)
{
    struct p9_message m = { .type = P9_TAUTH };

    m.attach.afid = 7;
    m.attach.uname = m.attach.aname = p9_string("");
    m.attach.uid = 0;
    FAILS(ENOENT, p9_client_call(f->client, &m, NULL));
    FAILS(EBADF, p9_clunk(f->client, 7));
}

/* ---- walking ------------------------------------------------------------- */

static void test_walk(struct fixture *f, gconstpointer option)
{
    g_autofree char *dir = p9_rig_path(f->rig, "a/b/c");
    struct p9_message m = { .type = P9_TWALK }, reply;
    struct stat st, root;
    uint32_t fid;

    g_assert_cmpint(g_mkdir_with_parents(dir, 0755), ==, 0);
    OK(p9_stat(f->client, P9_ROOT, &root));
    OK(p9_walk(f->client, P9_ROOT, "a/b/c/../../..", &fid));
    OK(p9_stat(f->client, fid, &st));
    g_assert_cmpuint(st.st_ino, ==, root.st_ino);
    OK(p9_walk(f->client, P9_ROOT, "../../a/./b", &fid));
    m.walk.fid = P9_ROOT;
    m.walk.newfid = 900;
    m.walk.n = 3;
    m.walk.names[0] = p9_string("a");
    m.walk.names[1] = p9_string("b");
    m.walk.names[2] = p9_string("none");
    OK(p9_client_call(f->client, &m, &reply));
    g_assert_cmpuint(reply.rwalk.n, ==, 2);
    FAILS(EBADF, p9_clunk(f->client, 900)); /* was not made */
    m.walk.names[0] = p9_string("none");
    FAILS(ENOENT, p9_client_call(f->client, &m, NULL));
    m.walk.n = 1;
    m.walk.names[0] = p9_string("a/b");
    FAILS(EINVAL, p9_client_call(f->client, &m, NULL));
    m.walk.names[0] = (struct p9_string){ "a\0b", 3 };
    FAILS(EINVAL, p9_client_call(f->client, &m, NULL));
    m.walk.names[0] = p9_string("");
    FAILS(EINVAL, p9_client_call(f->client, &m, NULL));
    m.walk.names[0] = p9_string("a");
    m.walk.newfid = P9_NO_FID;
    FAILS(EBADF, p9_client_call(f->client, &m, NULL));
    m.walk.fid = 901;
    FAILS(EBADF, p9_client_call(f->client, &m, NULL));
    /* A walk that replaces its own fid. */
    m.walk.fid = m.walk.newfid = fid;
    m.walk.names[0] = p9_string("c");
    OK(p9_client_call(f->client, &m, &reply));
    OK(p9_stat(f->client, fid, &st));
    g_assert_cmpuint(st.st_ino, ==, reply.rwalk.qids[0].path);
}

/* The client follows symlinks, the server does not. */
static void test_walk_symlink(struct fixture *f, gconstpointer option)
{
    g_autofree char *link = p9_rig_path(f->rig, "out");
    g_autofree char *target = NULL;
    uint32_t fid;

    g_assert_cmpint(symlink("/etc", link), ==, 0);
    FAILS(ENOTDIR, p9_walk(f->client, P9_ROOT, "out/passwd", &fid));
    OK(p9_walk(f->client, P9_ROOT, "out", &fid));
    FAILS(ELOOP, p9_lopen(f->client, fid, O_RDONLY));
    OK(p9_readlink(f->client, fid, &target));
    g_assert_cmpstr(target, ==, "/etc");
}

static void test_long_names(struct fixture *f, gconstpointer option)
{
    g_autofree char *longest = g_strnfill(255, 'n');
    g_autofree char *longer = g_strnfill(256, 'n');
    g_autofree char *target = g_strnfill(4095, 't');
    g_autofree char *read_back = NULL, *too_long = g_strnfill(4096, 't');
    uint32_t fid;

    OK(p9_mkdir(f->client, P9_ROOT, longest, 0755));
    OK(p9_walk(f->client, P9_ROOT, longest, &fid));
    FAILS(ENAMETOOLONG, p9_mkdir(f->client, P9_ROOT, longer, 0755));
    FAILS(ENAMETOOLONG, p9_walk(f->client, P9_ROOT, longer, &fid));
    OK(p9_symlink(f->client, P9_ROOT, "link", target));
    OK(p9_readlink(f->client, p9_fid(f, "link"), &read_back));
    g_assert_cmpstr(read_back, ==, target);
    FAILS(ENAMETOOLONG, p9_symlink(f->client, P9_ROOT, "more", too_long));
    OK(p9_mkdir(f->client, P9_ROOT, "\xff\x01\n", 0755));
}

/* ---- users --------------------------------------------------------------- */

static void test_owner(struct fixture *f, gconstpointer option)
{
    struct stat st;
    uint32_t fid;

    if (getuid() != 0) {
        g_test_skip("needs root");
        return;
    }
    OK(p9_attach(f->client, 50, "", 1234));
    f->client->gid = 4321;
    OK(p9_mkdir(f->client, 50, "dir", 0755));
    OK(p9_stat(f->client, p9_fid(f, "dir"), &st));
    g_assert_cmpuint(st.st_uid, ==, 1234);
    g_assert_cmpuint(st.st_gid, ==, 4321);
    /* A write by a user without privileges clears suid bits. */
    OK(p9_mknod(f->client, 50, "suid", S_IFREG | 04755, 0));
    OK(p9_stat(f->client, p9_fid(f, "suid"), &st));
    g_assert_cmphex(st.st_mode, ==, S_IFREG | 04755);
    OK(p9_walk(f->client, 50, "suid", &fid));
    OK(p9_lopen(f->client, fid, O_WRONLY));
    g_assert_cmpint(p9_write(f->client, fid, "x", 1, 0), ==, 1);
    OK(p9_stat(f->client, fid, &st));
    g_assert_cmphex(st.st_mode, ==, S_IFREG | 0755);
}

/* option: the host's 1234 is the client's 7. */
static void test_translated(struct fixture *f, gconstpointer option)
{
    g_autofree char *path = g_build_filename(f->rig->share, "dir", NULL);
    struct stat st;

    if (getuid() != 0) {
        g_test_skip("needs root");
        return;
    }
    OK(p9_attach(f->client, 50, "", 7));
    OK(p9_mkdir(f->client, 50, "dir", 0755));
    OK(p9_stat(f->client, p9_fid(f, "dir"), &st));
    g_assert_cmpuint(st.st_uid, ==, 7);
    g_assert_cmpint(stat(path, &st), ==, 0);
    g_assert_cmpuint(st.st_uid, ==, 1234);
    g_assert_cmpint(chown(path, 0, 0), ==, 0);
    OK(p9_chown(f, "dir", 7, P9_NO_UID));
    g_assert_cmpint(stat(path, &st), ==, 0);
    g_assert_cmpuint(st.st_uid, ==, 1234);
}

/* ---- sockets ------------------------------------------------------------- */

static int run_daemon(const char *const *arguments)
{
    g_autofree char *text = NULL;
    int status;

    g_assert_true(g_spawn_sync(NULL, (char **)arguments, NULL, 0, NULL, NULL,
                               NULL, &text, &status, NULL));
    g_test_message("%s", text);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Only loopback addresses. */
static void test_listen_refused(void)
{
    static const char *const bad[] = {
        "--listen=0.0.0.0:5640", "--listen=192.168.1.1:5640",
        "--listen=[::]:5640",    "--listen=localhost:5640",
        "--listen=127.0.0.1",    "--listen=127.0.0.1:99999",
        "--msize-max=1K",        "--max-connections=0",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        const char *arguments[] = { p9_daemon_path(), "--shared-dir=/tmp",
                                    bad[i], NULL };

        g_assert_cmpint(run_daemon(arguments), ==, 2);
    }
}

static void test_connected_fd(void)
{
    struct p9_rig *rig = p9_rig_new();
    g_autofree char *share = g_strdup_printf("--shared-dir=%s", rig->share);
    struct p9_client client = { .msize = 8192, .room = P9_MAX_MSIZE };
    int fds[2], status;
    pid_t pid;

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
    pid = fork();
    if (pid == 0) {
        dup2(fds[1], 9);
        close(fds[0]);
        execl(p9_daemon_path(), p9_daemon_path(), share, "--fd=9",
              "--log-level=error", NULL);
        _exit(127);
    }
    close(fds[1]);
    client.fd = fds[0];
    client.out = g_malloc(client.room);
    client.in = g_malloc(client.room);
    OK(p9_version(&client, 8192, P9_VERSION, NULL, NULL));
    OK(p9_attach(&client, P9_ROOT, "", 0));
    OK(p9_mkdir(&client, P9_ROOT, "dir", 0755));
    close(fds[0]);
    /* It exits with its only client. */
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    g_free(client.out);
    g_free(client.in);
    p9_rig_free(rig);
}

#define ADD(name, option, function) P9_ADD("p9-session", name, option, function)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("version", NULL, test_version);
    ADD("version-again", NULL, test_version_again);
    ADD("attach", NULL, test_attach);
    ADD("moved-out", NULL, test_moved_out);
    ADD("auth", NULL, test_auth);
    ADD("walk", NULL, test_walk);
    ADD("walk-symlink", NULL, test_walk_symlink);
    ADD("long-names", NULL, test_long_names);
    ADD("owner", "--allow-suid", test_owner);
    ADD("translated", "--translate-uid=map:7:1234:1", test_translated);
    g_test_add_func("/p9-session/options", test_listen_refused);
    g_test_add_func("/p9-session/connected-fd", test_connected_fd);
    add_p9_file_tests();
    add_p9_lock_tests();
    add_p9_wire_tests();
    return g_test_run();
}
