/* SPDX-License-Identifier: Apache-2.0
 *
 * p9-edge-test - requests that clients rarely make.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/p9/p9_fixture.h"

/* ---- reads at the end of a file ------------------------------------------ */

static void truncate_host(struct fixture *f, const char *name, off_t size)
{
    g_autofree char *path = p9_rig_path(f->rig, name);

    OK(truncate(path, size));
}

/* Read at the end of the file until the result is not empty. */
static int read_end(struct fixture *f, uint32_t fid, uint64_t offset,
                    int64_t until_us, gulong pause_us)
{
    struct p9_message m = { .type = P9_TREAD }, reply;
    int r = 0;

    m.read.fid = fid;
    m.read.offset = offset;
    m.read.count = 4096;
    while (r == 0 && g_get_monotonic_time() < until_us) {
        r = p9_client_call(f->client, &m, &reply);
        if (r == 0)
            g_assert_cmpuint(reply.data.count, ==, 0);
        g_usleep(pause_us);
    }
    return r;
}

static int read_end_now(struct fixture *f, uint32_t fid, uint64_t offset,
                        int64_t us, gulong pause_us)
{
    return read_end(f, fid, offset, g_get_monotonic_time() + us, pause_us);
}

/* A client that was told of a longer file than there is now reads at its end
 * without end, also after a reopen. One that waits for more does not, and may.
 */
static void test_vain_reads(struct fixture *f, gconstpointer option)
{
    int64_t start = g_get_monotonic_time();
    uint32_t fid, other;
    struct stat st;
    char text[8];

    p9_host_file(f, "file", "longer text");
    other = p9_fid(f, "file");
    OK(p9_stat(f->client, other, &st));
    truncate_host(f, "file", 4);
    fid = p9_open_fid(f, "file", O_RDONLY);
    FAILS(ESTALE, read_end(f, fid, 4, start + 20 * G_USEC_PER_SEC, 0));
    g_assert_cmpint(g_get_monotonic_time() - start, >, G_USEC_PER_SEC);
    /* The limit is per fid and offset. */
    OK(p9_lopen(f->client, other, O_RDONLY));
    OK(read_end_now(f, other, 4, 1000, 0));
    OK(read_end_now(f, fid, 5, 1000, 0));
    g_assert_cmpint(p9_read(f->client, fid, text, 4, 0), ==, 4);
    OK(read_end_now(f, fid, 4, 5 * G_USEC_PER_SEC / 2, 60000));
    /* If the file was never longer, all reads are allowed. */
    OK(read_end_now(f, fid, 11, 5 * G_USEC_PER_SEC / 2, 0));
}

/* On a busy machine a client that reads without end also pauses. */
static void test_vain_reads_with_pauses(struct fixture *f, gconstpointer option)
{
    uint32_t fid, other;
    struct stat st;
    int r = 0;

    p9_host_file(f, "file", "longer text");
    other = p9_fid(f, "file");
    OK(p9_stat(f->client, other, &st));
    truncate_host(f, "file", 4);
    fid = p9_open_fid(f, "file", O_RDONLY);
    for (int i = 0; i < 20 && r == 0; i++) {
        r = read_end_now(f, fid, 4, G_USEC_PER_SEC / 2, 0);
        g_usleep(100000);
    }
    FAILS(ESTALE, r);
}

/* A follower reads at the end as often as it likes. */
static void test_follower(struct fixture *f, gconstpointer option)
{
    uint32_t fid, writer;
    struct stat st;
    char text[8];

    p9_host_file(f, "file", "text");
    fid = p9_open_fid(f, "file", O_RDONLY);
    writer = p9_open_fid(f, "file", O_WRONLY);
    OK(p9_stat(f->client, fid, &st));
    OK(read_end_now(f, fid, 4, 3 * G_USEC_PER_SEC, 0));
    OK(read_end_now(f, fid, 4, 3 * G_USEC_PER_SEC, 10000));
    g_assert_cmpint(p9_write(f->client, writer, "more", 4, 4), ==, 4);
    g_assert_cmpint(p9_read(f->client, fid, text, 8, 4), ==, 4);
    OK(read_end_now(f, fid, 8, 3 * G_USEC_PER_SEC, 0));
}

/* ---- attributes ---------------------------------------------------------- */

/* Fields that are not valid may have any value. */
static void test_not_valid(struct fixture *f, gconstpointer option)
{
    struct p9_message m = { .type = P9_TSETATTR };

    p9_host_file(f, "file", "text");
    m.setattr.fid = p9_fid(f, "file");
    m.setattr.valid = P9_SETATTR_MODE;
    m.setattr.mode = 0600;
    m.setattr.size = UINT64_MAX;
    m.setattr.atime.nsec = UINT64_MAX;
    OK(p9_client_call(f->client, &m, NULL));
    g_assert_cmphex(p9_mode(f, "file"), ==, S_IFREG | 0600);
    m.setattr.valid = P9_SETATTR_SIZE;
    FAILS(EINVAL, p9_client_call(f->client, &m, NULL));
}

static uint32_t attribute_fid(struct fixture *f, const char *name,
                              uint64_t size)
{
    struct p9_message m = { .type = P9_TXATTRCREATE };

    m.xattrcreate.fid = p9_fid(f, "file");
    m.xattrcreate.name = p9_string(name);
    m.xattrcreate.size = size;
    OK(p9_client_call(f->client, &m, NULL));
    return m.xattrcreate.fid;
}

/* The last part of the value has arrived, the part before it has not. */
static void test_xattr_gap(struct fixture *f, gconstpointer option)
{
    uint32_t fid;
    char value[8];

    p9_host_file(f, "file", "text");
    if (p9_setxattr(f->client, p9_fid(f, "file"), "user.a", "b", 1, 0) < 0) {
        g_test_skip("no user attributes here");
        return;
    }
    fid = attribute_fid(f, "user.gap", 4);
    g_assert_cmpint(p9_write(f->client, fid, "d", 1, 3), ==, 1);
    FAILS(EINVAL, p9_clunk(f->client, fid));
    FAILS(ENODATA, p9_getxattr(f->client, p9_fid(f, "file"), "user.gap", value,
                               sizeof(value)));
    fid = attribute_fid(f, "user.parts", 4);
    g_assert_cmpint(p9_write(f->client, fid, "ab", 2, 0), ==, 2);
    g_assert_cmpint(p9_write(f->client, fid, "xcd", 3, 1), ==, 3);
    OK(p9_clunk(f->client, fid));
    g_assert_cmpint(p9_getxattr(f->client, p9_fid(f, "file"), "user.parts",
                                value, sizeof(value)),
                    ==, 4);
    g_assert_cmpmem(value, 4, "axcd", 4);
}

/* ---- sizes --------------------------------------------------------------- */

/* A reply never exceeds the negotiated size. */
static void test_long_target(struct fixture *f, gconstpointer option)
{
    struct p9_client *client = p9_client_connect(f->rig->socket, 4096,
                                                 getuid());
    struct p9_message m = { .type = P9_TREADLINK }, reply;
    g_autofree char *path = p9_rig_path(f->rig, "link");
    char target[4096];

    memset(target, 'x', sizeof(target));
    target[4095] = '\0';
    OK(symlink(target, path));
    OK(p9_walk(client, P9_ROOT, "link", &m.fid));
    g_assert_cmpint(p9_client_call(client, &m, &reply), <, 0);
    OK(unlink(path));
    target[4096 - P9_HEADER_SIZE - 2] = '\0';
    OK(symlink(target, path));
    OK(p9_walk(client, P9_ROOT, "link", &m.fid));
    OK(p9_client_call(client, &m, &reply));
    g_assert_cmpuint(reply.target.len, ==, 4096 - P9_HEADER_SIZE - 2);
    p9_client_free(client);
}

/* ---- other file systems ------------------------------------------------- */

static uint64_t number_of(struct fixture *f, const char *path)
{
    struct p9_message reply;

    OK(p9_getattr(f->client, p9_fid(f, path), P9_GETATTR_BASIC, &reply));
    return reply.rgetattr.qid.path;
}

/* The same, from the directory's listing; the name has four letters. */
static uint64_t listed_number(struct fixture *f, const char *dir,
                              const char *name)
{
    struct p9_message m = { .type = P9_TREADDIR }, reply;
    uint64_t number = 0;

    m.read.fid = p9_open_fid(f, dir, O_RDONLY);
    m.read.offset = 0;
    m.read.count = 4096;
    OK(p9_client_call(f->client, &m, &reply));
    for (uint32_t at = 0; at < reply.data.count;) {
        const uint8_t *entry = reply.data.at + at;

        if (entry[22] == 4 && memcmp(entry + P9_ENTRY_SIZE, name, 4) == 0)
            memcpy(&number, entry + 5, sizeof(number));
        at += P9_ENTRY_SIZE + entry[22];
    }
    return GUINT64_FROM_LE(number);
}

/* Inodes of two file systems may have the same number; two files must not. */
static void test_mounted(struct fixture *f, gconstpointer option)
{
    g_autofree char *a = p9_rig_path(f->rig, "a");
    g_autofree char *b = p9_rig_path(f->rig, "b");

    p9_pause(f);
    OK(g_mkdir(a, 0755));
    OK(g_mkdir(b, 0755));
    if (mount("tmpfs", a, "tmpfs", 0, NULL) == 0 &&
        mount("tmpfs", b, "tmpfs", 0, NULL) == 0) {
        p9_host_file(f, "a/file", "a");
        p9_host_file(f, "b/file", "b");
        p9_resume(f, option);
        g_assert_cmphex(number_of(f, "a"), !=, number_of(f, "b"));
        g_assert_cmphex(number_of(f, "a/file"), !=, number_of(f, "b/file"));
        g_assert_cmphex(number_of(f, "b/file"), ==,
                        listed_number(f, "b", "file"));
        p9_pause(f);
    } else {
        g_test_skip("only root can mount");
    }
    umount2(a, MNT_DETACH);
    umount2(b, MNT_DETACH);
    p9_resume(f, option);
}

/* ---- names --------------------------------------------------------------- */

static void test_create_dir(struct fixture *f, gconstpointer option)
{
    uint32_t fid = p9_fid(f, ""), inside;

    OK(p9_mkdir(f->client, P9_ROOT, "dir", 0755));
    FAILS(EISDIR, p9_lcreate(f->client, fid, "dir", O_RDONLY, 0644));
    FAILS(EISDIR, p9_lcreate(f->client, fid, "dir", O_RDWR, 0644));
    /* It is still the root's. */
    OK(p9_walk(f->client, fid, "dir", &inside));
}

/* Make a fid by a path that goes up again. */
static void test_up(struct fixture *f, gconstpointer option)
{
    uint32_t fid, root;

    OK(p9_mkdir(f->client, P9_ROOT, "dir", 0755));
    OK(p9_mkdir(f->client, p9_fid(f, "dir"), "sub", 0755));
    fid = p9_fid(f, "dir/sub/..");
    OK(p9_rename(f->client, fid, P9_ROOT, "moved"));
    OK(p9_unlinkat(f->client, fid, "sub", P9_AT_REMOVEDIR));
    OK(p9_rename(f->client, p9_fid(f, "moved/."), P9_ROOT, "again"));
    OK(p9_mkdir(f->client, fid, "sub", 0755));
    fid = p9_fid(f, "again/sub/..");
    OK(p9_rename(f->client, p9_fid(f, "again"), P9_ROOT, "third"));
    FAILS(ENOTEMPTY, p9_remove(f->client, fid));
    fid = p9_fid(f, "third/sub/..");
    OK(p9_unlinkat(f->client, fid, "sub", P9_AT_REMOVEDIR));
    OK(p9_remove(f->client, fid));
    root = p9_fid(f, "..");
    FAILS(EBUSY, p9_rename(f->client, root, P9_ROOT, "root"));
    FAILS(EBUSY, p9_remove(f->client, root));
}

/* ---- a new session ------------------------------------------------------- */

static int lock_as(struct fixture *f, uint32_t fid, const char *client)
{
    struct p9_message m = p9_lock_message(fid, P9_LOCK_WRITE, 0, 0, 0, 1);

    m.lock.client_id = p9_string(client);
    return p9_client_call(f->client, &m, NULL);
}

static void test_client_names(struct fixture *f, gconstpointer option)
{
    enum { NAMES = 16 };

    p9_host_file(f, "file", "");
    for (int session = 0; session < 3; session++) {
        uint32_t fid = p9_open_fid(f, "file", O_RDWR);

        for (int i = 0; i < NAMES; i++) {
            g_autofree char *name = g_strdup_printf("%d-%d", session, i);

            OK(lock_as(f, fid, name));
        }
        FAILS(ENOLCK, lock_as(f, fid, "one too many"));
        OK(p9_version(f->client, 8192, P9_VERSION, NULL, NULL));
        OK(p9_attach(f->client, P9_ROOT, "", getuid()));
    }
}

#define ADD(name, option, function) P9_ADD("p9-edge", name, option, function)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    /* In a private mount namespace no mount outlives the test. */
    if (unshare(CLONE_NEWNS) == 0)
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    ADD("vain-reads", NULL, test_vain_reads);
    ADD("vain-reads-with-pauses", NULL, test_vain_reads_with_pauses);
    ADD("follower", NULL, test_follower);
    ADD("not-valid", NULL, test_not_valid);
    ADD("xattr-gap", NULL, test_xattr_gap);
    ADD("long-target", NULL, test_long_target);
    ADD("mounted", NULL, test_mounted);
    ADD("create-dir", NULL, test_create_dir);
#ifdef HAVE_SQLITE
    ADD("create-dir-windows", "--profile=windows", test_create_dir);
#endif
    ADD("up", NULL, test_up);
    ADD("client-names", NULL, test_client_names);
    return g_test_run();
}
