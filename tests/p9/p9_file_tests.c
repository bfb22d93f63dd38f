/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_file_tests - files, names, attributes and directories of the real daemon.
 *
 * Ids: P9-03 (errors by number).
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/p9/p9_fixture.h"
#include "tests/p9/p9_tests.h"

/* ---- files --------------------------------------------------------------- */

static void test_read_write(struct fixture *f, gconstpointer option)
{
    g_autofree char *data = g_malloc(300000), *back = g_malloc(300000);
    g_autofree char *text = NULL;
    uint32_t fid = p9_create_fid(f, "file");

    for (int i = 0; i < 300000; i++)
        data[i] = (char)(i * 7 + i / 251);
    g_assert_cmpint(p9_write(f->client, fid, data, 300000, 0), ==, 300000);
    g_assert_cmpint(p9_read(f->client, fid, back, 300000, 0), ==, 300000);
    g_assert_cmpmem(data, 300000, back, 300000);
    g_assert_cmpint(p9_read(f->client, fid, back, 100, 299990), ==, 10);
    g_assert_cmpint(p9_read(f->client, fid, back, 100, 300000), ==, 0);
    FAILS(EINVAL, p9_read(f->client, fid, back, 1, UINT64_MAX));
    FAILS(EINVAL, p9_write(f->client, fid, data, 1, UINT64_MAX));
    g_assert_cmpint(p9_write(f->client, fid, data, 0, 5), ==, 0);
    OK(p9_fsync(f->client, fid));
    OK(p9_clunk(f->client, fid));
    FAILS(EBADF, p9_read(f->client, fid, back, 1, 0));
    FAILS(EBADF, p9_clunk(f->client, fid));
    text = p9_host_read(f, "file");
    g_assert_cmpmem(text, 300000, data, 300000);
}

static void test_open(struct fixture *f, gconstpointer option)
{
    uint32_t fid, dir;
    char byte;

    p9_host_file(f, "file", "text");
    fid = p9_open_fid(f, "file", O_RDONLY);
    FAILS(EBADF, p9_write(f->client, fid, "x", 1, 0));
    FAILS(EBADF, p9_lopen(f->client, fid, O_RDONLY)); /* open already */
    FAILS(ENOTDIR, p9_lcreate(f->client, fid, "x", O_RDWR, 0644));
    fid = p9_open_fid(f, "file", O_WRONLY);
    FAILS(EBADF, p9_read(f->client, fid, &byte, 1, 0));
    FAILS(EINVAL, p9_lopen(f->client, p9_fid(f, "file"), 3));
    FAILS(ENOTDIR, p9_lopen(f->client, p9_fid(f, "file"), P9_OPEN_DIRECTORY));
    dir = p9_fid(f, "");
    FAILS(EISDIR, p9_lopen(f->client, dir, O_RDWR));
    FAILS(EISDIR, p9_lopen(f->client, dir, P9_OPEN_TRUNC));
    OK(p9_lopen(f->client, dir, O_RDONLY));
    FAILS(EISDIR, p9_read(f->client, dir, &byte, 1, 0));
    FAILS(EBADF, p9_read(f->client, p9_fid(f, "file"), &byte, 1, 0));
    FAILS(EBADF, p9_fsync(f->client, p9_fid(f, "file")));
    OK(p9_fsync(f->client, dir));
}

static void test_truncate_append(struct fixture *f, gconstpointer option)
{
    g_autofree char *text = NULL, *cut = NULL;
    uint32_t fid;

    p9_host_file(f, "file", "text");
    fid = p9_open_fid(f, "file", O_WRONLY | P9_OPEN_APPEND);
    g_assert_cmpint(p9_write(f->client, fid, "-more", 5, 0), ==, 5);
    text = p9_host_read(f, "file");
    g_assert_cmpstr(text, ==, "text-more");
    p9_open_fid(f, "file", O_WRONLY | P9_OPEN_TRUNC);
    cut = p9_host_read(f, "file");
    g_assert_cmpstr(cut, ==, "");
}

static void test_create(struct fixture *f, gconstpointer option)
{
    struct stat st;
    uint32_t fid;

    p9_host_file(f, "old", "text");
    fid = p9_fid(f, "");
    FAILS(EEXIST,
          p9_lcreate(f->client, fid, "old", O_RDWR | P9_OPEN_EXCL, 0600));
    FAILS(EINVAL, p9_lcreate(f->client, fid, "..", O_RDWR, 0600));
    FAILS(EINVAL, p9_lcreate(f->client, fid, "a/b", O_RDWR, 0600));
    OK(p9_lcreate(f->client, fid, "new", O_RDWR, 0640));
    OK(p9_stat(f->client, fid, &st));
    g_assert_cmphex(st.st_mode, ==, S_IFREG | 0640);
    OK(p9_stat(f->client, p9_fid(f, "new"), &st));
    FAILS(ENOTDIR, p9_mkdir(f->client, p9_fid(f, "old"), "x", 0755));
}

/* A file without a name exists as long as it is open. */
static void test_unlinked(struct fixture *f, gconstpointer option)
{
    uint32_t fid = p9_create_fid(f, "file");
    struct stat st;
    char text[4];

    g_assert_cmpint(p9_write(f->client, fid, "text", 4, 0), ==, 4);
    OK(p9_unlinkat(f->client, P9_ROOT, "file", 0));
    g_assert_cmpint(p9_read(f->client, fid, text, 4, 0), ==, 4);
    OK(p9_stat(f->client, fid, &st));
    g_assert_cmpuint(st.st_nlink, ==, 0);
    FAILS(ENOENT, p9_remove(f->client, fid));
    FAILS(EBADF, p9_clunk(f->client, fid));
}

/* ---- names --------------------------------------------------------------- */

static void test_names(struct fixture *f, gconstpointer option)
{
    uint32_t dir, fid, other;
    struct stat st;

    OK(p9_mkdir(f->client, P9_ROOT, "dir", 0750));
    FAILS(EEXIST, p9_mkdir(f->client, P9_ROOT, "dir", 0750));
    dir = p9_fid(f, "dir");
    OK(p9_clunk(f->client, p9_create_fid(f, "file")));
    fid = p9_fid(f, "file");
    OK(p9_link(f->client, dir, fid, "second"));
    OK(p9_stat(f->client, fid, &st));
    g_assert_cmpuint(st.st_nlink, ==, 2);
    OK(p9_renameat(f->client, P9_ROOT, "file", dir, "moved"));
    FAILS(ENOENT, p9_walk(f->client, P9_ROOT, "file", &other));
    FAILS(ENOENT, p9_renameat(f->client, P9_ROOT, "file", dir, "moved"));
    FAILS(EINVAL, p9_renameat(f->client, dir, "moved", dir, "a/b"));
    FAILS(EINVAL, p9_renameat(f->client, dir, "..", dir, "b"));
    FAILS(EISDIR, p9_unlinkat(f->client, P9_ROOT, "dir", 0));
    FAILS(ENOTEMPTY, p9_unlinkat(f->client, P9_ROOT, "dir", P9_AT_REMOVEDIR));
    FAILS(EINVAL, p9_unlinkat(f->client, dir, "moved", 0x100));
    FAILS(ENOTDIR, p9_unlinkat(f->client, dir, "moved", P9_AT_REMOVEDIR));
    OK(p9_unlinkat(f->client, dir, "moved", 0));
    OK(p9_unlinkat(f->client, dir, "second", 0));
    OK(p9_unlinkat(f->client, P9_ROOT, "dir", P9_AT_REMOVEDIR));
    FAILS(ENOENT, p9_mkdir(f->client, dir, "x", 0755)); /* it is removed */
}

/* By the fid only. */
static void test_rename_remove(struct fixture *f, gconstpointer option)
{
    uint32_t fid, dir, stale;

    OK(p9_mkdir(f->client, P9_ROOT, "dir", 0755));
    dir = p9_fid(f, "dir");
    OK(p9_clunk(f->client, p9_create_fid(f, "file")));
    fid = p9_fid(f, "file");
    stale = p9_fid(f, "file");
    OK(p9_rename(f->client, fid, dir, "moved"));
    OK(p9_rename(f->client, fid, P9_ROOT, "again"));
    FAILS(ENOENT, p9_rename(f->client, stale, P9_ROOT, "never"));
    FAILS(EBUSY, p9_rename(f->client, P9_ROOT, dir, "root"));
    /* Another file in its place must not be removed. */
    OK(p9_clunk(f->client, p9_create_fid(f, "file")));
    FAILS(ENOENT, p9_remove(f->client, stale));
    OK(p9_clunk(f->client, p9_fid(f, "file")));
    OK(p9_remove(f->client, fid));
    FAILS(ENOENT, p9_walk(f->client, P9_ROOT, "again", &fid));
    OK(p9_remove(f->client, dir));
    FAILS(EBUSY, p9_remove(f->client, p9_fid(f, "")));
}

static void test_mknod(struct fixture *f, gconstpointer option)
{
    struct stat st;

    OK(p9_mknod(f->client, P9_ROOT, "fifo", S_IFIFO | 0600, 0));
    OK(p9_stat(f->client, p9_fid(f, "fifo"), &st));
    g_assert_true(S_ISFIFO(st.st_mode));
    FAILS(ENXIO, p9_lopen(f->client, p9_fid(f, "fifo"), O_RDONLY));
    if (getuid() != 0 || !option) {
        FAILS(EPERM, p9_mknod(f->client, P9_ROOT, "null", S_IFCHR | 0600,
                              makedev(1, 3)));
        return;
    }
    OK(p9_mknod(f->client, P9_ROOT, "null", S_IFCHR | 0600, makedev(1, 3)));
    OK(p9_stat(f->client, p9_fid(f, "null"), &st));
    g_assert_true(S_ISCHR(st.st_mode));
    g_assert_cmpuint(st.st_rdev, ==, makedev(1, 3));
    FAILS(ENXIO, p9_lopen(f->client, p9_fid(f, "null"), O_RDWR));
}

static void test_mknod_denied(struct fixture *f, gconstpointer option)
{
    FAILS(EPERM,
          p9_mknod(f->client, P9_ROOT, "null", S_IFCHR | 0600, makedev(1, 3)));
    FAILS(EPERM, p9_mknod(f->client, P9_ROOT, "fifo", S_IFIFO | 0600, 0));
    OK(p9_mknod(f->client, P9_ROOT, "file", S_IFREG | 0600, 0));
}

/* By default no file remains that grants other users of the host rights. */
static void test_suid(struct fixture *f, gconstpointer option)
{
    static const char value[20] = { 1, 0, 0, 2 };

    OK(p9_create(f, "file", O_RDWR, 0755));
    OK(p9_mkdir(f->client, P9_ROOT, "dir", 02775));
    OK(p9_chmod(f, "dir", 02777));
    if (option) {
        OK(p9_create(f, "new", O_RDWR, 04755));
        OK(p9_chmod(f, "file", 06755));
        return;
    }
    FAILS(EPERM, p9_create(f, "new", O_RDWR, 04755));
    FAILS(EPERM, p9_mknod(f->client, P9_ROOT, "new", S_IFREG | 02755, 0));
    FAILS(EPERM, p9_chmod(f, "file", 04755));
    FAILS(EPERM, p9_setxattr(f->client, p9_fid(f, "file"),
                             "security.capability", value, sizeof(value), 0));
    FAILS(EPERM,
          p9_mknod(f->client, P9_ROOT, "disk", S_IFBLK | 0600, makedev(8, 0)));
}

static void test_readonly(struct fixture *f, gconstpointer option)
{
    uint32_t fid;
    char text[4];

    p9_host_file(f, "file", "text");
    fid = p9_open_fid(f, "file", O_RDONLY);
    g_assert_cmpint(p9_read(f->client, fid, text, 4, 0), ==, 4);
    FAILS(EROFS, p9_lopen(f->client, p9_fid(f, "file"), O_RDWR));
    FAILS(EROFS, p9_lopen(f->client, p9_fid(f, "file"), P9_OPEN_TRUNC));
    FAILS(EROFS, p9_lcreate(f->client, p9_fid(f, ""), "x", O_RDONLY, 0644));
    FAILS(EROFS, p9_mkdir(f->client, P9_ROOT, "x", 0755));
    FAILS(EROFS, p9_symlink(f->client, P9_ROOT, "x", "y"));
    FAILS(EROFS, p9_unlinkat(f->client, P9_ROOT, "file", 0));
    FAILS(EROFS, p9_renameat(f->client, P9_ROOT, "file", P9_ROOT, "x"));
    FAILS(EROFS, p9_link(f->client, P9_ROOT, p9_fid(f, "file"), "x"));
    FAILS(EROFS, p9_remove(f->client, p9_fid(f, "file")));
    FAILS(EROFS,
          p9_setxattr(f->client, p9_fid(f, "file"), "user.a", "b", 1, 0));
}

/* ---- attributes ---------------------------------------------------------- */

static int set(struct fixture *f, uint32_t fid, struct p9_message *m)
{
    m->type = P9_TSETATTR;
    m->setattr.fid = fid;
    return p9_client_call(f->client, m, NULL);
}

static void test_setattr(struct fixture *f, gconstpointer option)
{
    struct p9_message m = { 0 };
    uint32_t fid;
    struct stat st;

    p9_host_file(f, "file", "some text");
    fid = p9_fid(f, "file");
    m.setattr.valid = P9_SETATTR_MODE | P9_SETATTR_SIZE | P9_SETATTR_MTIME |
                      P9_SETATTR_MTIME_SET;
    m.setattr.mode = 0604;
    m.setattr.size = 4;
    m.setattr.mtime = (struct p9_time){ 1000000000, 123456789 };
    OK(set(f, fid, &m));
    OK(p9_stat(f->client, fid, &st));
    g_assert_cmphex(st.st_mode, ==, S_IFREG | 0604);
    g_assert_cmpint(st.st_size, ==, 4);
    g_assert_cmpint(st.st_mtim.tv_sec, ==, 1000000000);
    g_assert_cmpint(st.st_mtim.tv_nsec, ==, 123456789);
    m.setattr.valid = P9_SETATTR_MTIME; /* the present time */
    OK(set(f, fid, &m));
    OK(p9_stat(f->client, fid, &st));
    g_assert_cmpint(st.st_mtim.tv_sec, >, 1500000000);
    m.setattr.valid = P9_SETATTR_MTIME | P9_SETATTR_MTIME_SET;
    m.setattr.mtime.nsec = 1000000000;
    FAILS(EINVAL, set(f, fid, &m));
    m.setattr.valid = P9_SETATTR_SIZE;
    m.setattr.mtime.nsec = 0;
    m.setattr.size = (uint64_t)INT64_MAX + 1;
    FAILS(EINVAL, set(f, fid, &m));
    m.setattr.size = 0;
    m.setattr.valid = 0;
    OK(set(f, fid, &m));
    FAILS(EBADF, set(f, 999, &m));
}

/* The requested fields are present; expensive ones only if requested. */
static void test_getattr(struct fixture *f, gconstpointer option)
{
    struct p9_message reply;
    uint32_t fid, version;

    p9_host_file(f, "file", "text");
    fid = p9_open_fid(f, "file", O_RDWR);
    OK(p9_getattr(f->client, fid, P9_GETATTR_SIZE, &reply));
    g_assert_cmphex(reply.rgetattr.valid, ==, P9_GETATTR_BASIC);
    g_assert_cmpuint(reply.rgetattr.size, ==, 4);
    g_assert_cmpuint(reply.rgetattr.btime.sec, ==, 0);
    version = reply.rgetattr.qid.version;
    OK(p9_getattr(f->client, fid, P9_GETATTR_BASIC | P9_GETATTR_BTIME, &reply));
    g_assert_cmpuint(reply.rgetattr.qid.version, ==, version);
    if (reply.rgetattr.valid & P9_GETATTR_BTIME)
        g_assert_cmpuint(reply.rgetattr.btime.sec, >, 1500000000);
    g_usleep(20000); /* the file clock has coarse ticks */
    g_assert_cmpint(p9_write(f->client, fid, "x", 1, 0), ==, 1);
    OK(p9_getattr(f->client, fid, P9_GETATTR_BASIC, &reply));
    g_assert_cmpuint(reply.rgetattr.qid.version, !=, version);
}

/* Only the ctime. */
static void test_touch(struct fixture *f, gconstpointer option)
{
    struct p9_message m = { 0 }, before, after;
    uint32_t fid;

    p9_host_file(f, "file", "text");
    fid = p9_fid(f, "file");
    OK(p9_getattr(f->client, fid, P9_GETATTR_BASIC, &before));
    g_usleep(20000);
    m.setattr.valid = P9_SETATTR_CTIME;
    OK(set(f, fid, &m));
    OK(p9_getattr(f->client, fid, P9_GETATTR_BASIC, &after));
    g_assert_true(after.rgetattr.ctime.sec > before.rgetattr.ctime.sec ||
                  after.rgetattr.ctime.nsec != before.rgetattr.ctime.nsec);
    g_assert_cmphex(after.rgetattr.mode, ==, before.rgetattr.mode);
    g_assert_cmpuint(after.rgetattr.mtime.nsec, ==, before.rgetattr.mtime.nsec);
}

static void test_statfs(struct fixture *f, gconstpointer option)
{
    struct p9_message m = { .type = P9_TSTATFS }, reply;

    m.fid = P9_ROOT;
    OK(p9_client_call(f->client, &m, &reply));
    g_assert_cmphex(reply.rstatfs.type, ==, P9_STATFS_TYPE);
    g_assert_cmpuint(reply.rstatfs.namelen, ==, 255);
    g_assert_cmpuint(reply.rstatfs.bsize, >, 0);
    g_assert_cmpuint(reply.rstatfs.blocks, >=, reply.rstatfs.bfree);
}

static void test_xattr(struct fixture *f, gconstpointer option)
{
    struct p9_message m = { .type = P9_TXATTRCREATE };
    struct p9_client *c = f->client;
    char value[64];
    uint32_t fid;
    int r;

    p9_host_file(f, "file", "text");
    fid = p9_fid(f, "file");
    r = p9_setxattr(c, fid, "user.a", "value", 5, 0);
    if (r == -EOPNOTSUPP) {
        g_test_skip("no user attributes here");
        return;
    }
    OK(r);
    g_assert_cmpint(p9_getxattr(c, fid, "user.a", value, 64), ==, 5);
    g_assert_cmpmem(value, 5, "value", 5);
    FAILS(EEXIST, p9_setxattr(c, fid, "user.a", "b", 1, P9_XATTR_CREATE));
    FAILS(ENODATA, p9_setxattr(c, fid, "user.b", "b", 1, P9_XATTR_REPLACE));
    FAILS(ENODATA, p9_getxattr(c, fid, "user.b", value, 64));
    OK(p9_setxattr(c, fid, "user.empty", "", 0, 0));
    g_assert_cmpint(p9_getxattr(c, fid, "user.empty", value, 64), ==, 0);
    g_assert_cmpint(p9_getxattr(c, fid, "", value, 64), >=, 18); /* the list */
    OK(p9_setxattr(c, fid, "user.a", "", 0, P9_XATTR_REPLACE));  /* remove */
    FAILS(ENODATA, p9_getxattr(c, fid, "user.a", value, 64));
    /* Less than announced, and more. */
    m.xattrcreate.fid = fid;
    m.xattrcreate.name = p9_string("user.c");
    m.xattrcreate.size = 4;
    m.xattrcreate.flags = 0;
    OK(p9_client_call(c, &m, NULL));
    FAILS(ENOSPC, p9_write(c, fid, "12345", 5, 0));
    FAILS(ENOSPC, p9_write(c, fid, "1", 1, UINT64_MAX));
    g_assert_cmpint(p9_write(c, fid, "12", 2, 0), ==, 2);
    FAILS(EINVAL, p9_clunk(c, fid));
    m.xattrcreate.size = UINT64_MAX;
    m.xattrcreate.fid = p9_fid(f, "file");
    FAILS(E2BIG, p9_client_call(c, &m, NULL));
}

/* ---- folders ------------------------------------------------------------- */

enum { MANY = 3000 };

static void make_many(struct fixture *f)
{
    for (int i = 0; i < MANY; i++) {
        g_autofree char *name = g_strdup_printf("a-name-%05d", i);

        p9_host_file(f, name, "");
    }
}

static void test_readdir(struct fixture *f, gconstpointer option)
{
    static const uint32_t counts[] = { 300, 4096, 60000 };
    uint32_t fid;

    make_many(f);
    fid = p9_open_fid(f, "", O_RDONLY);
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
        g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
        g_autoptr(GPtrArray) names = NULL;

        OK(p9_list(f->client, fid, counts[i], &names));
        g_assert_cmpuint(names->len, ==, MANY + 2);
        for (guint j = 0; j < names->len; j++)
            g_hash_table_add(seen, g_ptr_array_index(names, j));
        g_assert_cmpuint(g_hash_table_size(seen), ==, MANY + 2);
    }
}

/* Cookies stay valid while everything that was listed is removed. */
static void test_readdir_removing(struct fixture *f, gconstpointer option)
{
    struct p9_message m = { .type = P9_TREADDIR }, reply;
    g_autofree uint8_t *entries = g_malloc(4096);
    uint32_t fid;
    int removed = 0;

    make_many(f);
    fid = p9_open_fid(f, "", O_RDONLY);
    m.read.fid = fid;
    m.read.offset = 0;
    m.read.count = 4000;
    for (;;) {
        uint32_t size;

        OK(p9_client_call(f->client, &m, &reply));
        size = reply.data.count;
        if (size == 0)
            break;
        memcpy(entries, reply.data.at, size);
        for (uint32_t at = 0; at < size;) {
            uint16_t len = (uint16_t)(entries[at + 22] | entries[at + 23] << 8);
            g_autofree char *name = g_strndup(
                (char *)entries + at + P9_ENTRY_SIZE, len);

            memcpy(&m.read.offset, entries + at + P9_QID_SIZE, 8);
            if (*name != '.') {
                OK(p9_unlinkat(f->client, P9_ROOT, name, 0));
                removed++;
            }
            at += P9_ENTRY_SIZE + len;
        }
    }
    g_assert_cmpint(removed, ==, MANY);
}

static void test_readdir_errors(struct fixture *f, gconstpointer option)
{
    struct p9_message m = { .type = P9_TREADDIR };

    p9_host_file(f, "file", "");
    m.read.fid = p9_fid(f, "");
    m.read.count = 4096;
    m.read.offset = 0;
    FAILS(EBADF, p9_client_call(f->client, &m, NULL)); /* not open */
    m.read.fid = p9_open_fid(f, "file", O_RDONLY);
    FAILS(ENOTDIR, p9_client_call(f->client, &m, NULL));
    m.read.fid = p9_open_fid(f, "", O_RDONLY);
    m.read.count = 10;
    FAILS(EINVAL, p9_client_call(f->client, &m, NULL));
}

#define ADD(name, option, function) P9_ADD("p9-file", name, option, function)

void add_p9_file_tests(void)
{
    ADD("read-write", NULL, test_read_write);
    ADD("P9-03/open", NULL, test_open);
    ADD("truncate-append", NULL, test_truncate_append);
    ADD("P9-03/create", NULL, test_create);
    ADD("unlinked", NULL, test_unlinked);
    ADD("P9-03/names", NULL, test_names);
    ADD("rename-remove", NULL, test_rename_remove);
    ADD("mknod", NULL, test_mknod);
    ADD("mknod-devices", "--allow-devices", test_mknod);
    ADD("suid", NULL, test_suid);
    ADD("suid-allowed", "--allow-suid", test_suid);
    ADD("mknod-denied", "--mknod=deny", test_mknod_denied);
    ADD("readonly", "--readonly", test_readonly);
    ADD("P9-03/setattr", NULL, test_setattr);
    ADD("getattr", NULL, test_getattr);
    ADD("touch", NULL, test_touch);
    ADD("statfs", NULL, test_statfs);
    ADD("P9-03/xattr", NULL, test_xattr);
    ADD("readdir", NULL, test_readdir);
    ADD("readdir-removing", NULL, test_readdir_removing);
    ADD("P9-03/readdir", NULL, test_readdir_errors);
}
