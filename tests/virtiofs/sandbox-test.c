/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox-test - what a compromised daemon can reach.
 *
 * System calls are made in the daemon's own context (inject.h). First without
 * the seccomp filter, so that each of the other barriers is tested; then with
 * it, where each of these calls kills the daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/virtiofs/inject.h"
#include "tests/virtiofs/vhost_user_client.h"

struct daemon {
    struct client *client;
    struct inject *inject;
    char *beside; /* a file next to the share, which must stay unreachable */
};

static bool start(struct daemon *d, const char *const *arguments)
{
    *d = (struct daemon){ .client = client_spawn(arguments) };
    d->beside = g_build_filename(d->client->folder, "beside", NULL);
    g_assert_true(g_file_set_contents(d->beside, "secret", -1, NULL));
    client_start(d->client, 0);
    d->inject = inject_new(d->client->pid);
    if (!d->inject)
        g_test_skip("no system calls can be injected here");
    return d->inject != NULL;
}

static void stop(struct daemon *d)
{
    if (d->inject)
        inject_free(d->inject);
    client_free(d->client);
    g_free(d->beside);
}

static long call(struct daemon *d, long number, long a, long b, long c)
{
    return inject_call(d->inject, number, a, b, c, 0, 0);
}

static long text(struct daemon *d, const char *string)
{
    return inject_put(d->inject, string, strlen(string) + 1);
}

static long open_at(struct daemon *d, long dirfd, const char *path, int flags)
{
    return call(d, SYS_openat, dirfd, text(d, path), flags);
}

/* ---- paths --------------------------------------------------------------- */

static bool has_landlock(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0,
                   LANDLOCK_CREATE_RULESET_VERSION) >= 2;
}

/* The result for a file that exists but is inaccessible. */
static void expect_closed(long rc)
{
    if (rc != -ENOENT && rc != -EROFS)
        g_assert_cmpint(rc, ==, -EACCES);
}

static void check_paths(struct daemon *d)
{
    g_autofree char *inside = g_build_filename(d->client->share, "in", NULL);
    long fd, root = open_at(d, AT_FDCWD, "/", O_PATH | O_DIRECTORY);

    /* The injection works, and the share is accessible. */
    fd = open_at(d, AT_FDCWD, inside, O_RDWR | O_CREAT);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(call(d, SYS_close, fd, 0, 0), ==, 0);

    g_assert_cmpint(open_at(d, AT_FDCWD, "/etc/passwd", O_RDONLY), ==, -ENOENT);
    g_assert_cmpint(open_at(d, root, "../../../etc/passwd", O_RDONLY), ==,
                    -ENOENT);
    g_assert_cmpint(open_at(d, AT_FDCWD, "/proc/1/root/etc/passwd", O_RDONLY),
                    ==, -ENOENT);
    g_assert_cmpint(open_at(d, AT_FDCWD, "/proc/self/mem", O_RDWR), ==,
                    -ENOENT);
    if (has_landlock()) {
        expect_closed(open_at(d, AT_FDCWD, d->beside, O_RDONLY));
        expect_closed(open_at(d, AT_FDCWD, d->beside, O_WRONLY | O_TRUNC));
        expect_closed(call(d, SYS_unlink, text(d, d->beside), 0, 0));
    }
}

/* Each fd that the daemon holds, and ".." from there. */
static void check_fds(struct daemon *d)
{
    for (long fd = 0; fd < 64; fd++) {
        long up = open_at(d, fd, "../../../../../..", O_PATH | O_DIRECTORY);

        if (up < 0)
            continue;
        g_assert_cmpint(open_at(d, up, "etc/passwd", O_RDONLY), <, 0);
        g_assert_cmpint(call(d, SYS_close, up, 0, 0), ==, 0);
    }
}

static void test_paths(gconstpointer arguments)
{
    struct daemon d;

    if (start(&d, arguments)) {
        check_paths(&d);
        check_fds(&d);
    }
    stop(&d);
}

/* A parent of the share and the log is mounted: Landlock keeps it closed. */
static void test_common_parent(void)
{
    g_autofree char *log = g_strdup_printf("%s/stepback-sandbox-test-%d",
                                           g_get_tmp_dir(), (int)getpid());
    g_autofree char *option = g_strconcat("--undo-dir=", log, NULL);
    g_autofree char *remove = g_strconcat("rm -rf ", log, NULL);
    const char *const arguments[] = { "--seccomp=none", option, NULL };
    struct daemon d;

    if (start(&d, arguments)) {
        check_paths(&d);
        check_fds(&d);
        if (has_landlock())
            g_assert_cmpint(open_at(&d, AT_FDCWD, d.beside, O_RDONLY), ==,
                            -EACCES);
    }
    stop(&d);
    g_assert_true(g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL));
}

/* For root the chroot alone is no barrier; Landlock is. */
static void test_chroot(void)
{
    static const char *const arguments[] = { "--sandbox=chroot",
                                             "--seccomp=none", NULL };
    struct daemon d;

    if (!has_landlock()) {
        g_test_skip("there is no Landlock here");
        return;
    }
    if (start(&d, arguments)) {
        g_assert_cmpint(open_at(&d, AT_FDCWD, "/etc/passwd", O_RDONLY), ==,
                        -ENOENT);
        expect_closed(open_at(&d, AT_FDCWD, "../../../etc/passwd", O_RDONLY));
        g_assert_cmpint(call(&d, SYS_chroot, text(&d, "../../.."), 0, 0), ==,
                        -EPERM);
    }
    stop(&d);
}

/* ---- the rest ------------------------------------------------------------ */

static void check_processes(struct daemon *d)
{
    const char *program = "/bin/true";

    g_assert_cmpint(call(d, SYS_ptrace, PTRACE_ATTACH, getpid(), 0), ==,
                    -EPERM);
    g_assert_cmpint(call(d, SYS_ptrace, PTRACE_ATTACH, 1, 0), ==, -EPERM);
    g_assert_cmpint(call(d, SYS_execve, text(d, program), 0, 0), ==, -ENOENT);
}

/* A program that the guest has put into the share. */
static void check_planted(struct daemon *d)
{
    g_autofree char *path = g_build_filename(d->client->share, "program", NULL);

    g_assert_true(g_file_set_contents(path, "#!/bin/sh\n", -1, NULL));
    g_assert_cmpint(chmod(path, 0755), ==, 0);
    g_assert_cmpint(call(d, SYS_execve, text(d, path), 0, 0), ==, -EACCES);
}

static void check_network(struct daemon *d)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(9),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    long fd = call(d, SYS_socket, AF_INET, SOCK_STREAM, 0), at, rc;

    g_assert_cmpint(fd, >=, 0);
    at = inject_put(d->inject, &address, sizeof(address));
    rc = call(d, SYS_connect, fd, at, sizeof(address));
    g_assert_true(rc == -ENETUNREACH || rc == -EACCES);
    call(d, SYS_close, fd, 0, 0);
}

/* An abstract socket of an outside process: these belong to a network
 * namespace. */
static void check_abstract_socket(struct daemon *d)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size;
    long fd, at;

    g_snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
               "stepback-test-%d", (int)getpid());
    size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       strlen(address.sun_path + 1));
    g_assert_cmpint(bind(listening, (struct sockaddr *)&address, size), ==, 0);
    g_assert_cmpint(listen(listening, 1), ==, 0);
    fd = call(d, SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    at = inject_put(d->inject, &address, sizeof(address));
    g_assert_cmpint(call(d, SYS_connect, fd, at, size), <, 0);
    call(d, SYS_close, fd, 0, 0);
    close(listening);
}

static void check_mounts(struct daemon *d)
{
    long where = text(d, d->client->share);

    g_assert_cmpint(
        inject_call(d->inject, SYS_mount, where, where, 0, MS_BIND, 0), ==,
        -EPERM);
    /* With the rights of its own user namespace. */
    if (call(d, SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS, 0, 0) == 0 &&
        has_landlock()) {
        where = text(d, d->client->share);
        g_assert_cmpint(
            inject_call(d->inject, SYS_mount, where, where, 0, MS_BIND, 0), ==,
            -EPERM);
    }
}

static void test_rest(gconstpointer arguments)
{
    struct daemon d;

    if (start(&d, arguments)) {
        check_processes(&d);
        check_planted(&d);
        check_network(&d);
        check_abstract_socket(&d);
        check_mounts(&d);
    }
    stop(&d);
}

/* ---- the filter ---------------------------------------------------------- */

static const struct {
    const char *name;
    long number, a, b, c;
} forbidden[] = {
    { "socket", SYS_socket, AF_INET, SOCK_STREAM, 0 },
    { "connect", SYS_connect, 0, 0, 0 },
    { "ptrace", SYS_ptrace, PTRACE_TRACEME, 0, 0 },
    { "execve", SYS_execve, 0, 0, 0 },
    { "mount", SYS_mount, 0, 0, 0 },
    { "unshare", SYS_unshare, CLONE_NEWUSER, 0, 0 },
    { "fork", SYS_clone, SIGCHLD, 0, 0 },
    { "kill", SYS_kill, 1, 0, 0 },
    { "process_vm_readv", SYS_process_vm_readv, 1, 0, 0 },
    { "bpf", SYS_bpf, 0, 0, 0 },
    { "io_uring_setup", SYS_io_uring_setup, 1, 0, 0 },
    { "keyctl", SYS_keyctl, 0, 0, 0 },
    { "chroot", SYS_chroot, 0, 0, 0 },
    { "fcntl-owner", SYS_fcntl, 0, F_SETOWN, 1 },
    { "fcntl-signal", SYS_fcntl, 0, 10 /* F_SETSIG */, SIGKILL },
    { "prctl", SYS_prctl, 4 /* PR_SET_DUMPABLE */, 1, 0 },
};

static void test_filter(gconstpointer data)
{
    size_t i = GPOINTER_TO_SIZE(data);
    struct daemon d;

    if (start(&d, NULL)) {
        g_assert_cmpint(call(&d, forbidden[i].number, forbidden[i].a,
                             forbidden[i].b, forbidden[i].c),
                        ==, INJECT_DIED - SIGSYS);
        d.client->pid = 0;
    }
    stop(&d);
}

/* A thread may change its own settings: a change of any other thread's seems to
 * succeed and has no effect. */
static void test_filter_schedule(void)
{
    /* sched_setattr(2)'s SCHED_ATTR_SIZE_VER0: size and policy, flags, nice */
    const uint32_t nicer[12] = { sizeof(nicer), SCHED_OTHER, 0, 0, 7 };
    struct daemon d;
    long pid;

    if (start(&d, NULL)) {
        pid = call(&d, SYS_getpid, 0, 0, 0);
        g_assert_cmpint(pid, >, 0);
        g_assert_cmpint(call(&d, SYS_sched_setattr, pid,
                             inject_put(d.inject, nicer, sizeof(nicer)), 0),
                        ==, 0);
        g_assert_cmpint(getpriority(PRIO_PROCESS, (id_t)d.client->pid), ==,
                        getpriority(PRIO_PROCESS, 0));
    }
    stop(&d);
}

int main(int argc, char **argv)
{
    static const char *const open_filter[] = { "--seccomp=none", NULL };

    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/sandbox/namespace/paths", open_filter, test_paths);
    g_test_add_data_func("/sandbox/namespace/rest", open_filter, test_rest);
    g_test_add_func("/sandbox/namespace/common-parent", test_common_parent);
    if (geteuid() == 0)
        g_test_add_func("/sandbox/chroot", test_chroot);
    for (size_t i = 0; i < G_N_ELEMENTS(forbidden); i++) {
        g_autofree char *path = g_strdup_printf("/sandbox/filter/%s",
                                                forbidden[i].name);

        g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_filter);
    }
    g_test_add_func("/sandbox/filter/others-schedule", test_filter_schedule);
    return g_test_run();
}
