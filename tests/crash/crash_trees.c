/* SPDX-License-Identifier: Apache-2.0
 *
 * crash_trees - see crash_trees.h.
 */
#include "tests/crash/crash_trees.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define OK(call)  g_assert_cmpint((call), ==, 0)
#define NEWLINE   "a\nline"
#define NOT_UTF8  "\xff\xfe \x80"
#define LIKE_FLAG "-rf *"

/* Text that does not compress well. */
static char *noise(size_t len, guint32 seed)
{
    char *data = g_malloc(len);

    for (size_t i = 0; i < len; i++) {
        seed = seed * 1664525 + 1013904223;
        data[i] = (char)(seed >> 24);
    }
    return data;
}

/* ---- filling, on the host ------------------------------------------------ */

static void host_mode(struct world *w, const char *path, mode_t mode)
{
    g_autofree char *full = world_host_path(w, path);

    OK(chmod(full, mode));
}

static void host_link(struct world *w, const char *from, const char *path)
{
    g_autofree char *full_from = world_host_path(w, from);
    g_autofree char *full = world_host_path(w, path);

    OK(link(full_from, full));
}

static void host_symlink(struct world *w, const char *target, const char *path)
{
    g_autofree char *full = world_host_path(w, path);

    OK(symlink(target, full));
}

static void host_node(struct world *w, const char *path, mode_t mode, dev_t dev)
{
    g_autofree char *full = world_host_path(w, path);

    if (mknod(full, mode, dev) < 0)
        g_assert_cmpint(errno, ==, EPERM); /* not root */
}

static void host_time(struct world *w, const char *path, time_t seconds)
{
    g_autofree char *full = world_host_path(w, path);
    struct timespec times[2] = { { .tv_sec = seconds, .tv_nsec = 123456789 },
                                 { .tv_sec = seconds, .tv_nsec = 987654321 } };

    OK(utimensat(AT_FDCWD, full, times, AT_SYMLINK_NOFOLLOW));
}

static void host_sparse(struct world *w, const char *path)
{
    g_autofree char *full = world_host_path(w, path);
    int fd = open(full, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(pwrite(fd, "start", 5, 0), ==, 5);
    g_assert_cmpint(pwrite(fd, "middle", 6, 100000), ==, 6);
    OK(ftruncate(fd, 250000));
    close(fd);
}

static void host_noise(struct world *w, const char *path, size_t len)
{
    g_autofree char *full = world_host_path(w, path);
    g_autofree char *data = noise(len, (guint32)len);

    OK(!g_file_set_contents(full, data, (gssize)len, NULL));
}

static void fill_names(struct world *w)
{
    world_host_file(w, NEWLINE, "a newline in the name");
    world_host_file(w, NOT_UTF8, "not UTF-8");
    world_host_file(w, LIKE_FLAG, "like a flag");
    world_host_dir(w, "d\xc3\xafr/" NOT_UTF8);
    world_host_file(w, "d\xc3\xafr/" NOT_UTF8 "/in", "in an odd folder");
}

static void fill_kinds(struct world *w)
{
    g_autofree char *tagged = world_host_path(w, "tagged");

    world_host_file(w, "one", "three names");
    host_link(w, "one", "two");
    world_host_dir(w, "links");
    host_link(w, "one", "links/three");
    host_symlink(w, "deep/er/still/file", "soft");
    host_symlink(w, "/no/such\xff place", "dangling");
    host_node(w, "pipe", S_IFIFO | 0640, 0);
    host_node(w, "device", S_IFCHR | 0600, makedev(1, 3));
    world_host_file(w, "tagged", "has attributes");
    setxattr(tagged, "user.colour", "red", 3, 0);
    setxattr(tagged, "user.empty", "", 0, 0);
}

static void fill_mixed(struct world *w)
{
    world_host_dir(w, "deep/er/still");
    world_host_file(w, "deep/er/still/file", "deep down");
    world_host_dir(w, "deep/empty");
    world_host_dir(w, "empty");
    world_host_dir(w, "gone/a/b");
    world_host_file(w, "gone/a/b/x", "x");
    world_host_file(w, "gone/a/y", "y");
    world_host_file(w, "gone/z", "z");
    world_host_file(w, "text", "some text\n");
    world_host_file(w, "other", "another text\n");
    world_host_file(w, "suid", "#!/bin/true\n");
    host_mode(w, "suid", 04755);
    world_host_dir(w, "closed");
    world_host_file(w, "closed/inside", "in a folder without w");
    host_noise(w, "noise", 140000);
    host_sparse(w, "sparse");
    fill_names(w);
    fill_kinds(w);
    host_mode(w, "closed", 0555);
    host_time(w, "text", 1000000000);
    host_time(w, "soft", 1100000000);
    host_time(w, "deep/er", 1200000000);
    host_time(w, "gone", 1300000000);
}

/* ---- names --------------------------------------------------------------- */

static void remove_gone(struct crash *c)
{
    TRY(unlink, "gone/a/b/x");
    TRY(rmdir, "gone/a/b");
    TRY(unlink, "gone/a/y");
    TRY(rmdir, "gone/a");
    TRY(unlink, "gone/z");
    TRY(rmdir, "gone");
}

static void change_names(struct crash *c)
{
    TRY_PARTS(put, "new", O_CREAT | O_EXCL, "new text", 8, 0);
    TRY(mkdir, "made", 0750);
    TRY_PARTS(put, "made/file", O_CREAT | O_EXCL, "made", 4, 0);
    TRY(rename, "text", "other", 0);
    TRY(rename, "deep/empty", "empty", 0);
    TRY(rename, "one", "suid", RENAME_EXCHANGE);
    TRY(rename, "links", "noise", RENAME_EXCHANGE);
    remove_gone(c);
    TRY(unlink, "two");
    TRY(link, "made/file", "made/again");
    TRY(symlink, "made/" NOT_UTF8, "made/soft");
    TRY(mknod, "made/pipe", S_IFIFO | 0600, 0);
    TRY(rename, "deep", "made/deep", 0);
    TRY_PARTS(put, "made/deep/er/more", O_CREAT | O_EXCL, "more", 4, 0);
    TRY(unlink, "pipe");
    TRY(unlink, "dangling");
    TRY(rename, NOT_UTF8, NEWLINE, 0);
    TRY(rename, "d\xc3\xafr", LIKE_FLAG "2", 0);
    TRY(unlink, "closed/inside");
    TRY(rmdir, "closed");
}

/* ---- contents ------------------------------------------------------------ */

static int unlink_then_write(struct crash *c, const char *path)
{
    const struct world_backend *backend = c->w->backend;
    void *handle = backend->open(c->w, path, O_RDWR);
    int rc;

    if (!handle)
        return -errno;
    rc = backend->unlink(c->w, path);
    if (rc == 0)
        rc = backend->write(c->w, handle, "written later", 13, 2);
    backend->close(c->w, handle);
    return rc;
}

/* A change that always fails. */
#define REFUSED(operation, why, ...)                                           \
    TRY_CALL(#operation " " #__VA_ARGS__, true,                                \
             unless(c->w->backend->operation(c->w, __VA_ARGS__), why))

static int unless(int rc, int expected)
{
    return rc == expected ? 0 : rc == 0 ? -ENOTRECOVERABLE : rc;
}

static void change_contents(struct crash *c)
{
    struct timespec times[2] = { { .tv_sec = 5 }, { .tv_sec = 6 } };
    g_autofree char *data = noise(30000, 7);

    TRY(put, "noise/three", 0, "hard-linked", 11, 3);
    TRY(put, "links", 0, data, 30000, 120000);
    TRY(truncate, "sparse", 130000);
    TRY(fallocate, "sparse", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 98304,
        8192);
    TRY_PARTS(put, "other", O_TRUNC, "cut", 3, 0);
    TRY(put, "made/file", O_APPEND, "appended", 8, 0);
    TRY(fallocate, "new", FALLOC_FL_KEEP_SIZE, 0, 100000);
    TRY(copy_range, "links", "tagged", 1000, 5, 50000);
    TRY(chmod, "tagged", 0751);
    TRY(setxattr, "tagged", "user.colour", "green", 5);
    TRY(removexattr, "tagged", "user.empty");
    TRY(utimes, "soft", times);
    TRY(chmod, "one", 0600);
    TRY(chown, "suid", 7, 8);
    TRY(put, NEWLINE, 0, "changed", 7, 0);
    TRY_CALL("write through a handle after unlink", false,
             unlink_then_write(c, "made/again"));
    TRY_CALL("write through a handle after unlink", false,
             unlink_then_write(c, "tagged"));
    TRY(chmod, "made", 0700);
    REFUSED(mkdir, -EEXIST, "made", 0755);
    REFUSED(link, -EEXIST, "one", "suid");
    REFUSED(rmdir, -ENOTEMPTY, "made");
    REFUSED(rename, -ENOTEMPTY, "noise", "made", 0);
}

/* ---- both, alternating --------------------------------------------------- */

static int use_tmpfile(struct crash *c, const char *name)
{
    const struct world_backend *backend = c->w->backend;
    void *handle = backend->tmpfile(c->w, ".", O_RDWR);
    int rc;

    if (!handle)
        return -errno;
    rc = backend->write(c->w, handle, "unnamed", 7, 0);
    if (rc == 0)
        rc = backend->handle_link(c->w, handle, name);
    backend->close(c->w, handle);
    return rc;
}

static void change_again(struct crash *c)
{
    TRY(rename, "new", "made/new", 0);
    TRY(unlink, "other");
    TRY_PARTS(put, "other", O_CREAT | O_EXCL, "the name again", 14, 0);
    TRY(rename, "made/deep/er", "er", 0);
    TRY(mkdir, "made/deep/er", 0755);
    TRY(rename, "er/still", "made/deep/er/still", 0);
    TRY(put, "made/deep/er/still/file", 0, "moved twice", 11, 0);
    TRY(rename, "er/more", "made/deep/er/still/file", 0);
    TRY(rmdir, "er");
    TRY_CALL("tmpfile", false, use_tmpfile(c, "named"));
    TRY(link, "noise/three", "three");
    TRY(unlink, "noise/three");
    TRY(put, "three", 0, "x", 1, 1);
    TRY(rename, "noise", "made/noise", 0);
    TRY(rename, "made", "remade", 0);
    TRY_PARTS(put, "remade/file", O_TRUNC, "", 0, 0);
    TRY(rename, "remade/file", "tmp", 0);
    TRY(rename, "links", "remade/file", 0);
    TRY(rename, "tmp", "links", 0);
    TRY(setxattr, "remade", "user.on-a-folder", "yes", 3);
    TRY(unlink, "sparse");
    TRY(unlink, "remade/pipe");
    TRY(unlink, "remade/soft");
    TRY(symlink, "a target", "remade/soft");
    TRY(chmod, "remade/deep", 0500);
    TRY(mkdir, "made", 0755);
    TRY(rename, "remade/deep", "made", 0);
}

/* ---- names of one file --------------------------------------------------- */

static void fill_names_of_one(struct world *w)
{
    world_host_file(w, "first", "it has more than one name");
    host_link(w, "first", "second");
}

static void write_one(struct crash *c)
{
    TRY(put, "first", 0, "changed", 7, 3);
}

static void link_one(struct crash *c)
{
    TRY(link, "first", "third");
}

static void link_again(struct crash *c)
{
    TRY(unlink, "second");
    TRY(link, "third", "fourth");
    TRY(put, "fourth", 0, "again", 5, 0);
}

/* ---- more files than the log removes at once ----------------------------- */

enum { MANY = 300 };

static void fill_many(struct world *w)
{
    world_host_dir(w, "many");
    for (int i = 0; i < MANY; i++) {
        g_autofree char *path = g_strdup_printf("many/%d", i);

        world_host_file(w, path, path);
    }
}

static void remove_many(struct crash *c)
{
    for (int i = 0; i < MANY; i++) {
        g_autofree char *path = g_strdup_printf("many/%d", i);

        TRY(unlink, path);
    }
}

static void make_new(struct crash *c)
{
    TRY_PARTS(put, "many/new", O_CREAT | O_EXCL, "new", 3, 0);
}

static void change_new(struct crash *c)
{
    TRY(put, "many/new", 0, "old", 3, 0);
}

const struct crash_tree crash_trees[] = {
    { "mixed",
      0,
      false,
      fill_mixed,
      { change_names, change_contents, change_again } },
    { "links",
      0,
      true,
      fill_names_of_one,
      { write_one, link_one, link_again } },
    { "many", 13, true, fill_many, { remove_many, make_new, change_new } },
};
const size_t crash_trees_count = G_N_ELEMENTS(crash_trees);
