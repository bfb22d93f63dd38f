/* SPDX-License-Identifier: Apache-2.0
 *
 * p9-session-test - a client's session with the real daemon.
 *
 * Ids: P9-03 (errors by number).
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/p9_client.h"

#define OK(call)           g_assert_cmpint(call, ==, 0)
#define FAILS(error, call) g_assert_cmpint(call, ==, -(error))

struct fixture {
    struct p9_rig *rig;
    struct p9_client *client;
};

static void set_up(struct fixture *f, gconstpointer option)
{
    f->rig = p9_rig_new();
    p9_rig_start(f->rig, option, NULL);
    f->client = p9_client_connect(f->rig->socket, 65536, getuid());
}

static void tear_down(struct fixture *f, gconstpointer option)
{
    p9_client_free(f->client);
    p9_rig_free(f->rig);
}

static void host_file(struct fixture *f, const char *name, const char *text)
{
    g_autofree char *path = p9_rig_path(f->rig, name);

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static char *host_read(struct fixture *f, const char *name)
{
    g_autofree char *path = p9_rig_path(f->rig, name);
    char *text = NULL;

    g_file_get_contents(path, &text, NULL, NULL);
    return text;
}

static uint32_t walk(struct fixture *f, const char *path)
{
    uint32_t fid;

    OK(p9_walk(f->client, P9_ROOT, path, &fid));
    return fid;
}

static uint32_t open_file(struct fixture *f, const char *path, uint32_t flags)
{
    uint32_t fid = walk(f, path);

    OK(p9_lopen(f->client, fid, flags));
    return fid;
}

static uint32_t create(struct fixture *f, const char *name)
{
    uint32_t fid = walk(f, "");

    OK(p9_lcreate(f->client, fid, name, O_RDWR | P9_OPEN_EXCL, 0644));
    return fid;
}

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

/* A new session knows nothing of the old one's fids. */
static void test_version_again(struct fixture *f, gconstpointer option)
{
    struct stat st;

    OK(p9_stat(f->client, P9_ROOT, &st));
    OK(p9_version(f->client, 65536, P9_VERSION, NULL, NULL));
    FAILS(EBADF, p9_stat(f->client, P9_ROOT, &st));
    OK(p9_attach(f->client, P9_ROOT, "", 0));
}

static void test_attach(struct fixture *f, gconstpointer option)
{
    g_autofree char *dir = p9_rig_path(f->rig, "a/b");
    g_autofree char *link = p9_rig_path(f->rig, "link");
    struct stat inner, up;
    uint32_t fid;

    g_assert_cmpint(g_mkdir_with_parents(dir, 0755), ==, 0);
    g_assert_cmpint(symlink("a", link), ==, 0);
    host_file(f, "file", "");
    OK(p9_attach(f->client, 100, "/a//b/", 0));
    OK(p9_stat(f->client, 100, &inner));
    OK(p9_walk(f->client, 100, "../..", &fid));
    OK(p9_stat(f->client, fid, &up));
    g_assert_cmpuint(up.st_ino, ==, inner.st_ino); /* held there */
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
    FAILS(EBADF, p9_clunk(f->client, 900)); /* not made */
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
    /* A fid in its own place. */
    m.walk.fid = m.walk.newfid = fid;
    m.walk.names[0] = p9_string("c");
    OK(p9_client_call(f->client, &m, &reply));
    OK(p9_stat(f->client, fid, &st));
    g_assert_cmpuint(st.st_ino, ==, reply.rwalk.qids[0].path);
}

/* Symlinks are the client's to follow. */
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
    OK(p9_readlink(f->client, walk(f, "link"), &read_back));
    g_assert_cmpstr(read_back, ==, target);
    FAILS(ENAMETOOLONG, p9_symlink(f->client, P9_ROOT, "more", too_long));
    OK(p9_mkdir(f->client, P9_ROOT, "\xff\x01\n", 0755));
}

/* ---- files --------------------------------------------------------------- */

static void test_read_write(struct fixture *f, gconstpointer option)
{
    g_autofree char *data = g_malloc(300000), *back = g_malloc(300000);
    g_autofree char *text = NULL;
    uint32_t fid = create(f, "file");

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
    text = host_read(f, "file");
    g_assert_cmpmem(text, 300000, data, 300000);
}

static void test_open(struct fixture *f, gconstpointer option)
{
    uint32_t fid, dir;
    char byte;

    host_file(f, "file", "text");
    fid = open_file(f, "file", O_RDONLY);
    FAILS(EBADF, p9_write(f->client, fid, "x", 1, 0));
    FAILS(EBADF, p9_lopen(f->client, fid, O_RDONLY)); /* is open */
    FAILS(ENOTDIR, p9_lcreate(f->client, fid, "x", O_RDWR, 0644));
    fid = open_file(f, "file", O_WRONLY);
    FAILS(EBADF, p9_read(f->client, fid, &byte, 1, 0));
    FAILS(EINVAL, p9_lopen(f->client, walk(f, "file"), 3));
    FAILS(ENOTDIR, p9_lopen(f->client, walk(f, "file"), P9_OPEN_DIRECTORY));
    dir = walk(f, "");
    FAILS(EISDIR, p9_lopen(f->client, dir, O_RDWR));
    FAILS(EISDIR, p9_lopen(f->client, dir, P9_OPEN_TRUNC));
    OK(p9_lopen(f->client, dir, O_RDONLY));
    FAILS(EISDIR, p9_read(f->client, dir, &byte, 1, 0));
    FAILS(EBADF, p9_read(f->client, walk(f, "file"), &byte, 1, 0));
    FAILS(EBADF, p9_fsync(f->client, walk(f, "file")));
    OK(p9_fsync(f->client, dir));
}

static void test_truncate_append(struct fixture *f, gconstpointer option)
{
    g_autofree char *text = NULL, *cut = NULL;
    uint32_t fid;

    host_file(f, "file", "text");
    fid = open_file(f, "file", O_WRONLY | P9_OPEN_APPEND);
    g_assert_cmpint(p9_write(f->client, fid, "-more", 5, 0), ==, 5);
    text = host_read(f, "file");
    g_assert_cmpstr(text, ==, "text-more");
    open_file(f, "file", O_WRONLY | P9_OPEN_TRUNC);
    cut = host_read(f, "file");
    g_assert_cmpstr(cut, ==, "");
}

static void test_create(struct fixture *f, gconstpointer option)
{
    struct stat st;
    uint32_t fid;

    host_file(f, "old", "text");
    fid = walk(f, "");
    FAILS(EEXIST,
          p9_lcreate(f->client, fid, "old", O_RDWR | P9_OPEN_EXCL, 0600));
    FAILS(EINVAL, p9_lcreate(f->client, fid, "..", O_RDWR, 0600));
    FAILS(EINVAL, p9_lcreate(f->client, fid, "a/b", O_RDWR, 0600));
    OK(p9_lcreate(f->client, fid, "new", O_RDWR, 0640));
    OK(p9_stat(f->client, fid, &st));
    g_assert_cmphex(st.st_mode, ==, S_IFREG | 0640);
    OK(p9_stat(f->client, walk(f, "new"), &st));
    FAILS(ENOTDIR, p9_mkdir(f->client, walk(f, "old"), "x", 0755));
}

/* A file without a name is there as long as it is open. */
static void test_unlinked(struct fixture *f, gconstpointer option)
{
    uint32_t fid = create(f, "file");
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
    dir = walk(f, "dir");
    OK(p9_clunk(f->client, create(f, "file")));
    fid = walk(f, "file");
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
    FAILS(ENOENT, p9_mkdir(f->client, dir, "x", 0755)); /* it is gone */
}

/* By the fid alone. */
static void test_rename_remove(struct fixture *f, gconstpointer option)
{
    uint32_t fid, dir, stale;

    OK(p9_mkdir(f->client, P9_ROOT, "dir", 0755));
    dir = walk(f, "dir");
    OK(p9_clunk(f->client, create(f, "file")));
    fid = walk(f, "file");
    stale = walk(f, "file");
    OK(p9_rename(f->client, fid, dir, "moved"));
    OK(p9_rename(f->client, fid, P9_ROOT, "again"));
    FAILS(ENOENT, p9_rename(f->client, stale, P9_ROOT, "never"));
    FAILS(EBUSY, p9_rename(f->client, P9_ROOT, dir, "root"));
    /* Another file in its place is not removed by mistake. */
    OK(p9_clunk(f->client, create(f, "file")));
    FAILS(ENOENT, p9_remove(f->client, stale));
    OK(p9_clunk(f->client, walk(f, "file")));
    OK(p9_remove(f->client, fid));
    FAILS(ENOENT, p9_walk(f->client, P9_ROOT, "again", &fid));
    OK(p9_remove(f->client, dir));
    FAILS(EBUSY, p9_remove(f->client, walk(f, "")));
}

static void test_mknod(struct fixture *f, gconstpointer option)
{
    struct stat st;

    OK(p9_mknod(f->client, P9_ROOT, "fifo", S_IFIFO | 0600, 0));
    OK(p9_stat(f->client, walk(f, "fifo"), &st));
    g_assert_true(S_ISFIFO(st.st_mode));
    FAILS(ENXIO, p9_lopen(f->client, walk(f, "fifo"), O_RDONLY));
    if (getuid() != 0)
        return;
    OK(p9_mknod(f->client, P9_ROOT, "null", S_IFCHR | 0600, makedev(1, 3)));
    OK(p9_stat(f->client, walk(f, "null"), &st));
    g_assert_true(S_ISCHR(st.st_mode));
    g_assert_cmpuint(st.st_rdev, ==, makedev(1, 3));
    FAILS(ENXIO, p9_lopen(f->client, walk(f, "null"), O_RDWR));
}

static void test_mknod_denied(struct fixture *f, gconstpointer option)
{
    FAILS(EPERM,
          p9_mknod(f->client, P9_ROOT, "null", S_IFCHR | 0600, makedev(1, 3)));
    FAILS(EPERM, p9_mknod(f->client, P9_ROOT, "fifo", S_IFIFO | 0600, 0));
    OK(p9_mknod(f->client, P9_ROOT, "file", S_IFREG | 0600, 0));
}

static void test_readonly(struct fixture *f, gconstpointer option)
{
    uint32_t fid;
    char text[4];

    host_file(f, "file", "text");
    fid = open_file(f, "file", O_RDONLY);
    g_assert_cmpint(p9_read(f->client, fid, text, 4, 0), ==, 4);
    FAILS(EROFS, p9_lopen(f->client, walk(f, "file"), O_RDWR));
    FAILS(EROFS, p9_lopen(f->client, walk(f, "file"), P9_OPEN_TRUNC));
    FAILS(EROFS, p9_lcreate(f->client, walk(f, ""), "x", O_RDONLY, 0644));
    FAILS(EROFS, p9_mkdir(f->client, P9_ROOT, "x", 0755));
    FAILS(EROFS, p9_symlink(f->client, P9_ROOT, "x", "y"));
    FAILS(EROFS, p9_unlinkat(f->client, P9_ROOT, "file", 0));
    FAILS(EROFS, p9_renameat(f->client, P9_ROOT, "file", P9_ROOT, "x"));
    FAILS(EROFS, p9_link(f->client, P9_ROOT, walk(f, "file"), "x"));
    FAILS(EROFS, p9_remove(f->client, walk(f, "file")));
    FAILS(EROFS, p9_setxattr(f->client, walk(f, "file"), "user.a", "b", 1, 0));
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

    host_file(f, "file", "some text");
    fid = walk(f, "file");
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
    m.setattr.valid = P9_SETATTR_MTIME; /* now */
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

/* What is asked for is there, and what costs more only then. */
static void test_getattr(struct fixture *f, gconstpointer option)
{
    struct p9_message reply;
    uint32_t fid, version;

    host_file(f, "file", "text");
    fid = open_file(f, "file", O_RDWR);
    OK(p9_getattr(f->client, fid, P9_GETATTR_SIZE, &reply));
    g_assert_cmphex(reply.rgetattr.valid, ==, P9_GETATTR_BASIC);
    g_assert_cmpuint(reply.rgetattr.size, ==, 4);
    g_assert_cmpuint(reply.rgetattr.btime.sec, ==, 0);
    version = reply.rgetattr.qid.version;
    OK(p9_getattr(f->client, fid, P9_GETATTR_BASIC | P9_GETATTR_BTIME, &reply));
    g_assert_cmpuint(reply.rgetattr.qid.version, ==, version);
    if (reply.rgetattr.valid & P9_GETATTR_BTIME)
        g_assert_cmpuint(reply.rgetattr.btime.sec, >, 1500000000);
    g_usleep(20000); /* the clock of files ticks slowly */
    g_assert_cmpint(p9_write(f->client, fid, "x", 1, 0), ==, 1);
    OK(p9_getattr(f->client, fid, P9_GETATTR_BASIC, &reply));
    g_assert_cmpuint(reply.rgetattr.qid.version, !=, version);
}

/* Only the ctime. */
static void test_touch(struct fixture *f, gconstpointer option)
{
    struct p9_message m = { 0 }, before, after;
    uint32_t fid;

    host_file(f, "file", "text");
    fid = walk(f, "file");
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

    host_file(f, "file", "text");
    fid = walk(f, "file");
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
    /* Less than was promised, and more. */
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
    m.xattrcreate.fid = walk(f, "file");
    FAILS(E2BIG, p9_client_call(c, &m, NULL));
}

/* ---- folders ------------------------------------------------------------- */

enum { MANY = 3000 };

static void make_many(struct fixture *f)
{
    for (int i = 0; i < MANY; i++) {
        g_autofree char *name = g_strdup_printf("a-name-%05d", i);

        host_file(f, name, "");
    }
}

static void test_readdir(struct fixture *f, gconstpointer option)
{
    static const uint32_t counts[] = { 300, 4096, 60000 };
    uint32_t fid;

    make_many(f);
    fid = open_file(f, "", O_RDONLY);
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

/* Cookies hold while everything that was listed is removed. */
static void test_readdir_removing(struct fixture *f, gconstpointer option)
{
    struct p9_message m = { .type = P9_TREADDIR }, reply;
    g_autofree uint8_t *entries = g_malloc(4096);
    uint32_t fid;
    int removed = 0;

    make_many(f);
    fid = open_file(f, "", O_RDONLY);
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

    host_file(f, "file", "");
    m.read.fid = walk(f, "");
    m.read.count = 4096;
    m.read.offset = 0;
    FAILS(EBADF, p9_client_call(f->client, &m, NULL)); /* not open */
    m.read.fid = open_file(f, "file", O_RDONLY);
    FAILS(ENOTDIR, p9_client_call(f->client, &m, NULL));
    m.read.fid = open_file(f, "", O_RDONLY);
    m.read.count = 10;
    FAILS(EINVAL, p9_client_call(f->client, &m, NULL));
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
    OK(p9_stat(f->client, walk(f, "dir"), &st));
    g_assert_cmpuint(st.st_uid, ==, 1234);
    g_assert_cmpuint(st.st_gid, ==, 4321);
    /* Writing as somebody without rights takes suid bits away. */
    OK(p9_mknod(f->client, 50, "suid", S_IFREG | 04755, 0));
    OK(p9_stat(f->client, walk(f, "suid"), &st));
    g_assert_cmphex(st.st_mode, ==, S_IFREG | 04755);
    OK(p9_walk(f->client, 50, "suid", &fid));
    OK(p9_lopen(f->client, fid, O_WRONLY));
    g_assert_cmpint(p9_write(f->client, fid, "x", 1, 0), ==, 1);
    OK(p9_stat(f->client, fid, &st));
    g_assert_cmphex(st.st_mode, ==, S_IFREG | 0755);
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

/* Nothing but loopback addresses. */
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
    /* It ends with its only client. */
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    g_free(client.out);
    g_free(client.in);
    p9_rig_free(rig);
}

#define ADD(name, option, function)                                            \
    g_test_add("/p9-session/" name, struct fixture, option, set_up, function,  \
               tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("version", NULL, test_version);
    ADD("version-again", NULL, test_version_again);
    ADD("attach", NULL, test_attach);
    ADD("auth", NULL, test_auth);
    ADD("walk", NULL, test_walk);
    ADD("walk-symlink", NULL, test_walk_symlink);
    ADD("long-names", NULL, test_long_names);
    ADD("read-write", NULL, test_read_write);
    ADD("P9-03/open", NULL, test_open);
    ADD("truncate-append", NULL, test_truncate_append);
    ADD("P9-03/create", NULL, test_create);
    ADD("unlinked", NULL, test_unlinked);
    ADD("P9-03/names", NULL, test_names);
    ADD("rename-remove", NULL, test_rename_remove);
    ADD("mknod", NULL, test_mknod);
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
    ADD("owner", NULL, test_owner);
    g_test_add_func("/p9-session/options", test_listen_refused);
    g_test_add_func("/p9-session/connected-fd", test_connected_fd);
    return g_test_run();
}
