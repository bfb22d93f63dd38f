/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost-user-test - a guest's work with files.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/virtiofs/fuse_client.h"
#include "tests/virtiofs/vhost_user_tests.h"

/* The feature bits under which every test of this file runs. */
static const struct {
    const char *name;
    uint64_t want;
    uint32_t piece;
} variants[] = {
    { "plain", 0, 0 },
    { "event-idx", CLIENT_EVENT_IDX, 0 },
    { "indirect-pages", CLIENT_INDIRECT | CLIENT_EVENT_IDX, 4096 },
};

static struct client *start(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    static const char *const arguments[] = { "--allow-suid", "--allow-devices",
                                             NULL };
    struct client *client = fuse_client_new(variants[i].want, arguments);

    client->piece = variants[i].piece;
    return client;
}

static void expect_content(const struct client *client, const char *name,
                           const void *data, size_t size)
{
    g_autofree char *path = client_host_path(client, name);
    g_autofree char *content = NULL;
    gsize len;

    g_assert_true(g_file_get_contents(path, &content, &len, NULL));
    g_assert_cmpmem(content, len, data, size);
}

static struct stat host_stat(const struct client *client, const char *name)
{
    g_autofree char *path = client_host_path(client, name);
    struct stat st;

    g_assert_cmpint(lstat(path, &st), ==, 0);
    return st;
}

static void test_read_write(gconstpointer data)
{
    struct client *client = start(data);
    g_autofree char *big = g_malloc(1 << 20);
    const void *back;
    uint64_t node, fh;

    for (int i = 0; i < 1 << 20; i++)
        big[i] = (char)(i * 31 + i / 4096);
    g_assert_cmpint(
        fuse_client_create(client, ROOT, "f", O_RDWR | O_CREAT, &node, &fh), ==,
        0);
    g_assert_cmpint(fuse_client_write(client, fh, 0, "hello", 5, 0), ==, 5);
    expect_content(client, "f", "hello", 5);
    if (client->piece == 0 || (1 << 20) / client->piece < 250) {
        g_assert_cmpint(fuse_client_write(client, fh, 0, big, 1 << 20, 0), ==,
                        1 << 20);
        expect_content(client, "f", big, 1 << 20);
        g_assert_cmpint(fuse_client_read(client, fh, 0, 1 << 20, &back), ==,
                        1 << 20);
        g_assert_cmpmem(back, 1 << 20, big, 1 << 20);
    }
    g_assert_cmpint(fuse_client_write(client, fh, 3, big, 777777, 0), ==,
                    777777);
    g_assert_cmpint(fuse_client_read(client, fh, 4, 777776, &back), ==, 777776);
    g_assert_cmpmem(back, 777776, big + 1, 777776);
    g_assert_cmpint(fuse_client_read(client, fh, 1 << 30, 4096, &back), ==, 0);
    g_assert_cmpint(fuse_client_release(client, FUSE_RELEASE, node, fh), ==, 0);
    g_assert_cmpint(fuse_client_read(client, fh, 0, 10, &back), ==, -EBADF);
    client_free(client);
}

/* Drop a part from the page cache; length 0: to the end. Harmless if it stays.
 */
static void drop_cached(const char *path, off_t offset, off_t length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    g_assert_cmpint(fsync(fd), ==, 0);
    g_assert_cmpint(posix_fadvise(fd, offset, length, POSIX_FADV_DONTNEED), ==,
                    0);
    close(fd);
}

/* Many consecutive parts are in the page cache; then some are not, or partly.
 */
static void test_cold_reads(gconstpointer data)
{
    enum { SIZE = 3 << 20, READ = 200 << 10, TURNS = 10 };
    struct client *client = start(data);
    g_autofree char *big = g_malloc(SIZE);
    g_autofree char *path = client_host_path(client, "f");
    struct fuse_entry_out entry;
    const void *back;
    uint64_t fh;

    for (int i = 0; i < SIZE; i++)
        big[i] = (char)(i * 31 + i / 4096);
    g_assert_true(g_file_set_contents(path, big, SIZE, NULL));
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "f", &entry), ==, 0);
    g_assert_cmpint(fuse_client_open(client, entry.nodeid, O_RDONLY, 0, &fh),
                    ==, 0);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (off_t at = 0; at < SIZE; at += READ) {
            int wanted = (int)MIN(READ, SIZE - at);

            g_assert_cmpint(
                fuse_client_read(client, fh, (uint64_t)at, READ, &back), ==,
                wanted);
            g_assert_cmpmem(back, (size_t)wanted, big + at, (size_t)wanted);
        }
        drop_cached(path, (off_t)turn * READ + READ / 2,
                    turn % 2 ? READ / 4 : 0);
    }
    client_free(client);
}

static void test_open_modes(gconstpointer data)
{
    struct client *client = start(data);
    uint64_t node, fh, again;
    const void *back;

    g_assert_cmpint(
        fuse_client_create(client, ROOT, "f", O_WRONLY | O_EXCL, &node, &fh),
        ==, 0);
    g_assert_cmpint(
        fuse_client_create(client, ROOT, "f", O_WRONLY | O_EXCL, &node, &again),
        ==, -EEXIST);
    g_assert_cmpint(fuse_client_write(client, fh, 0, "one", 3, 0), ==, 3);
    g_assert_cmpint(fuse_client_read(client, fh, 0, 3, &back), ==, -EBADF);
    /* The host determines the offset of an append. */
    g_assert_cmpint(fuse_client_write(client, fh, 0, "two", 3, O_APPEND), ==,
                    3);
    expect_content(client, "f", "onetwo", 6);
    g_assert_cmpint(fuse_client_open(client, node, O_RDONLY, 0, &again), ==, 0);
    g_assert_cmpint(fuse_client_write(client, again, 0, "x", 1, 0), ==, -EBADF);
    g_assert_cmpint(fuse_client_read(client, again, 0, 10, &back), ==, 6);
    g_assert_cmpint(
        fuse_client_open(client, node, O_WRONLY | O_TRUNC, 0, &again), ==, 0);
    expect_content(client, "f", "", 0);
    g_assert_cmpint(fuse_client_open(client, ROOT, O_RDONLY, 0, &again), ==,
                    -EISDIR);
    g_assert_cmpint(fuse_client_opendir(client, node, &again), ==, -ENOTDIR);
    client_free(client);
}

/* A guest's user without CAP_FSETID clears suid and sgid by a write, a
 * truncation and an open that truncates. */
static void test_kill_priv(gconstpointer data)
{
    struct client *client = start(data);
    g_autofree char *path = client_host_path(client, "f");
    struct fuse_write_in in = { .size = 1,
                                .write_flags = FUSE_WRITE_KILL_SUIDGID };
    struct iovec args[] = { PIECE(in), { (void *)"y", 1 } };
    struct fuse_setattr_in cut = { .valid = FATTR_SIZE | FATTR_KILL_SUIDGID };
    struct fuse_attr attr;
    uint64_t node, again;
    const void *reply;

    g_assert_cmpint(
        fuse_client_create(client, ROOT, "f", O_RDWR, &node, &in.fh), ==, 0);
    g_assert_cmpint(chmod(path, 06755), ==, 0);
    g_assert_cmpint(fuse_client_write(client, in.fh, 0, "x", 1, 0), ==, 1);
    g_assert_cmphex(host_stat(client, "f").st_mode & 07777, ==, 06755);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_WRITE, node, args,
                                     2, 8, &reply, NULL),
                    ==, 0);
    g_assert_cmphex(host_stat(client, "f").st_mode & 07777, ==, 0755);
    g_assert_cmpint(chmod(path, 06755), ==, 0);
    g_assert_cmpint(fuse_client_open(client, node, O_WRONLY | O_TRUNC,
                                     FUSE_OPEN_KILL_SUIDGID, &again),
                    ==, 0);
    g_assert_cmphex(host_stat(client, "f").st_mode & 07777, ==, 0755);
    g_assert_cmpint(host_stat(client, "f").st_size, ==, 0);
    g_assert_cmpint(chmod(path, 06755), ==, 0);
    g_assert_cmpint(fuse_client_setattr(client, node, &cut, &attr), ==, 0);
    g_assert_cmphex(attr.mode & 07777, ==, 0755);
    client_free(client);
}

static void test_names(gconstpointer data)
{
    struct client *client = start(data);
    uint64_t dir, node, fh;
    struct fuse_entry_out entry, again;

    g_assert_cmpint(fuse_client_mkdir(client, ROOT, "d", &dir), ==, 0);
    g_assert_cmpint(fuse_client_create(client, dir, "a", O_RDWR, &node, &fh),
                    ==, 0);
    g_assert_cmpint(fuse_client_rename(client, dir, "a", ROOT, "b", 0), ==, 0);
    g_assert_cmpint(fuse_client_lookup(client, dir, "a", &entry), ==, -ENOENT);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "b", &entry), ==, 0);
    g_assert_cmpuint(entry.nodeid, ==, node);
    g_assert_cmpint(fuse_client_create(client, ROOT, "c", O_RDWR, &node, &fh),
                    ==, 0);
    g_assert_cmpint(fuse_client_rename(client, ROOT, "b", ROOT, "c", 1), ==,
                    -EEXIST); /* RENAME_NOREPLACE */
    g_assert_cmpint(fuse_client_rename(client, ROOT, "b", ROOT, "c", 2), ==,
                    0); /* RENAME_EXCHANGE */
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "c", &again), ==, 0);
    g_assert_cmpuint(again.nodeid, ==, entry.nodeid);
    g_assert_cmpint(fuse_client_rename(client, ROOT, "b", ROOT, "c", 4), ==,
                    -EINVAL); /* RENAME_WHITEOUT */
    g_assert_cmpint(fuse_client_remove(client, FUSE_UNLINK, ROOT, "d"), ==,
                    -EISDIR);
    g_assert_cmpint(fuse_client_remove(client, FUSE_RMDIR, ROOT, "b"), ==,
                    -ENOTDIR);
    g_assert_cmpint(fuse_client_remove(client, FUSE_UNLINK, ROOT, "b"), ==, 0);
    g_assert_cmpint(fuse_client_remove(client, FUSE_RMDIR, ROOT, "d"), ==, 0);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "d", &entry), ==, -ENOENT);
    client_free(client);
}

static void test_links(gconstpointer data)
{
    struct client *client = start(data);
    const char *target = "no/such/place", *name = "sym", *hard = "hard";
    struct iovec symlink_args[] = { TEXT(name), TEXT(target) };
    struct fuse_link_in link_in = { 0 };
    struct iovec link_args[] = { PIECE(link_in), TEXT(hard) };
    struct fuse_entry_out entry, again;
    const struct fuse_entry_out *made;
    const void *reply;
    uint64_t node, fh;
    uint32_t len;

    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_SYMLINK, ROOT,
                                     symlink_args, 2, sizeof(entry), &reply,
                                     &len),
                    ==, 0);
    made = reply;
    node = made->nodeid;
    g_assert_true(S_ISLNK(made->attr.mode));
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_READLINK, node,
                                     NULL, 0, 4096, &reply, &len),
                    ==, 0);
    g_assert_cmpmem(reply, len, target, strlen(target));
    g_assert_cmpint(fuse_client_open(client, node, O_RDONLY, 0, &fh), ==,
                    -ELOOP);
    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    link_in.oldnodeid = node;
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_LINK, ROOT,
                                     link_args, 2, sizeof(entry), &reply, &len),
                    ==, 0);
    made = reply;
    g_assert_cmpuint(made->nodeid, ==, node);
    g_assert_cmpuint(made->attr.nlink, ==, 2);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "f", &entry), ==, 0);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "hard", &again), ==, 0);
    g_assert_cmpuint(entry.nodeid, ==, again.nodeid);
    client_free(client);
}

static void test_nodes(gconstpointer data)
{
    struct client *client = start(data);
    struct fuse_mknod_in in = { .mode = S_IFIFO | 0600 };
    const char *name = "fifo";
    struct iovec args[] = { PIECE(in), TEXT(name) };
    const struct fuse_entry_out *entry;
    const void *reply;
    uint64_t fh;

    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_MKNOD, ROOT, args,
                                     2, sizeof(*entry), &reply, NULL),
                    ==, 0);
    entry = reply;
    g_assert_true(S_ISFIFO(entry->attr.mode));
    /* The guest's kernel implements it; here an open would wait for a peer. */
    g_assert_cmpint(fuse_client_open(client, entry->nodeid, O_RDONLY, 0, &fh),
                    ==, -ENXIO);
    if (geteuid() == 0) {
        name = "dev";
        args[1] = (struct iovec)TEXT(name);
        in.mode = S_IFCHR | 0600;
        in.rdev = 1 << 8 | 0x03 | 0x1 << 20; /* 1:259 */
        g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_MKNOD, ROOT,
                                         args, 2, sizeof(*entry), &reply, NULL),
                        ==, 0);
        entry = reply;
        g_assert_cmpuint(entry->attr.rdev, ==, in.rdev);
        g_assert_cmpuint(host_stat(client, "dev").st_rdev, ==, makedev(1, 259));
    }
    client_free(client);
}

static int seek(struct client *client, uint64_t fh, uint64_t offset,
                uint32_t whence, uint64_t *ret_offset)
{
    struct fuse_lseek_in in = { .fh = fh, .offset = offset, .whence = whence };
    struct iovec args[] = { PIECE(in) };
    const void *reply;
    int r = fuse_client_call(client, FUSE_QUEUE, FUSE_LSEEK, 0, args, 1, 8,
                             &reply, NULL);

    if (r == 0)
        memcpy(ret_offset, reply, sizeof(*ret_offset));
    return r;
}

static void test_ranges(gconstpointer data)
{
    struct client *client = start(data);
    struct fuse_fallocate_in allocate = { .length = 65536 };
    struct iovec allocate_args[] = { PIECE(allocate) };
    struct fuse_copy_file_range_in copy = { .len = 10, .off_out = 4 };
    struct iovec copy_args[] = { PIECE(copy) };
    uint64_t node, fh, other, offset = 0;
    const void *reply;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    allocate.fh = fh;
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_FALLOCATE, node,
                                     allocate_args, 1, 0, NULL, NULL),
                    ==, 0);
    g_assert_cmpint(host_stat(client, "f").st_size, ==, 65536);
    g_assert_cmpint(fuse_client_write(client, fh, 1 << 20, "0123456789", 10, 0),
                    ==, 10);
    g_assert_cmpint(seek(client, fh, 65536, SEEK_DATA, &offset), ==, 0);
    g_assert_cmpuint(offset, ==, 1 << 20);
    g_assert_cmpint(seek(client, fh, 1 << 21, SEEK_DATA, &offset), ==, -ENXIO);
    g_assert_cmpint(seek(client, fh, 0, SEEK_SET, &offset), ==, -EINVAL);
    g_assert_cmpint(
        fuse_client_create(client, ROOT, "g", O_RDWR, &node, &other), ==, 0);
    copy.fh_in = fh;
    copy.off_in = 1 << 20;
    copy.nodeid_out = node;
    copy.fh_out = other;
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_COPY_FILE_RANGE,
                                     node, copy_args, 1, 8, &reply, NULL),
                    ==, 0);
    g_assert_cmpuint(((const struct fuse_write_out *)reply)->size, ==, 10);
    expect_content(client, "g",
                   "\0\0\0\0"
                   "0123456789",
                   14);
    client_free(client);
}

/* A large copy is done in parts, so that other requests run in between. */
static void test_large_copy(gconstpointer data)
{
    struct client *client = start(data);
    struct fuse_copy_file_range_in copy = { 0 };
    struct iovec copy_args[] = { PIECE(copy) };
    const uint64_t size = 100 << 20;
    uint64_t node, other, left = size;
    const void *reply;

    g_assert_cmpint(
        fuse_client_create(client, ROOT, "f", O_RDWR, &node, &copy.fh_in), ==,
        0);
    g_assert_cmpint(
        fuse_client_write(client, copy.fh_in, size - 3, "end", 3, 0), ==, 3);
    g_assert_cmpint(
        fuse_client_create(client, ROOT, "g", O_RDWR, &other, &copy.fh_out), ==,
        0);
    copy.nodeid_out = other;
    while (left > 0) {
        uint32_t n;

        copy.len = 1ull << 40;
        g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE,
                                         FUSE_COPY_FILE_RANGE, node, copy_args,
                                         1, 8, &reply, NULL),
                        ==, 0);
        n = ((const struct fuse_write_out *)reply)->size;
        g_assert_cmpuint(n, >, 0);
        g_assert_cmpuint(n, <=, 32 << 20);
        g_assert_cmpuint(n, <=, left);
        copy.off_in = copy.off_out += n;
        left -= n;
    }
    g_assert_cmpint(host_stat(client, "g").st_size, ==, size);
    client_free(client);
}

static void test_sync_and_statfs(gconstpointer data)
{
    struct client *client = start(data);
    struct fuse_fsync_in in = { 0 };
    struct iovec args[] = { PIECE(in) };
    uint64_t zero = 0;
    struct iovec syncfs_args[] = { PIECE(zero) };
    const struct fuse_statfs_out *out;
    const void *reply;
    uint64_t node, fh;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    in.fh = fh;
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_FSYNC, node, args,
                                     1, 0, NULL, NULL),
                    ==, 0);
    g_assert_cmpint(fuse_client_opendir(client, ROOT, &fh), ==, 0);
    in.fh = fh;
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_FSYNCDIR, ROOT,
                                     args, 1, 0, NULL, NULL),
                    ==, 0);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_SYNCFS, ROOT,
                                     syncfs_args, 1, 0, NULL, NULL),
                    ==, 0);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_STATFS, ROOT,
                                     NULL, 0, sizeof(*out), &reply, NULL),
                    ==, 0);
    out = reply;
    g_assert_cmpuint(out->st.namelen, ==, 255);
    g_assert_cmpuint(out->st.blocks, >, 0);
    client_free(client);
}

static void test_tmpfile(gconstpointer data)
{
    struct client *client = start(data);
    struct fuse_create_in in = { .flags = O_RDWR, .mode = S_IFREG | 0600 };
    const char *name = "/", *linked = "linked";
    struct iovec args[] = { PIECE(in), TEXT(name) };
    struct fuse_link_in link_in;
    struct iovec link_args[] = { PIECE(link_in), TEXT(linked) };
    struct {
        struct fuse_entry_out entry;
        struct fuse_open_out open;
    } out;
    const void *reply;
    int r = fuse_client_call(client, FUSE_QUEUE, FUSE_TMPFILE, ROOT, args, 2,
                             sizeof(out), &reply, NULL);

    if (r == -EOPNOTSUPP) {
        g_test_skip("no O_TMPFILE on this file system");
    } else {
        g_assert_cmpint(r, ==, 0);
        memcpy(&out, reply, sizeof(out));
        g_assert_cmpuint(out.entry.attr.nlink, ==, 0);
        g_assert_cmpint(fuse_client_write(client, out.open.fh, 0, "t", 1, 0),
                        ==, 1);
        link_in.oldnodeid = out.entry.nodeid;
        g_assert_cmpint(
            fuse_client_call(client, FUSE_QUEUE, FUSE_LINK, ROOT, link_args, 2,
                             sizeof(struct fuse_entry_out), &reply, NULL),
            ==, 0);
        expect_content(client, "linked", "t", 1);
    }
    client_free(client);
}

static const struct {
    const char *name;
    void (*run)(gconstpointer data);
} tests[] = {
    { "files/read-write", test_read_write },
    { "files/cold-reads", test_cold_reads },
    { "files/open-modes", test_open_modes },
    { "files/kill-priv", test_kill_priv },
    { "files/ranges", test_ranges },
    { "files/large-copy", test_large_copy },
    { "files/sync-and-statfs", test_sync_and_statfs },
    { "files/tmpfile", test_tmpfile },
    { "names/rename-remove", test_names },
    { "names/links", test_links },
    { "names/nodes", test_nodes },
};

int main(int argc, char **argv)
{
    umask(0);
    g_test_init(&argc, &argv, NULL);
    for (guint v = 0; v < G_N_ELEMENTS(variants); v++) {
        for (guint i = 0; i < G_N_ELEMENTS(tests); i++) {
            g_autofree char *path = g_strdup_printf(
                "/vhost-user/%s/%s", variants[v].name, tests[i].name);

            g_test_add_data_func(path, GUINT_TO_POINTER(v), tests[i].run);
        }
    }
    add_vhost_user_attr_tests();
    add_vhost_user_dir_tests();
    add_vhost_user_names_tests();
    add_vhost_user_node_tests();
    return g_test_run();
}
