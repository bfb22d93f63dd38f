/* SPDX-License-Identifier: Apache-2.0
 *
 * inode-once-test - inodes that are looked up once are not opened.
 *
 * Those that are looked up twice are kept.
 *
 * For a client that keeps no names. An inode of the first kind is gone once
 * that client has removed it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/inode/inode_rig.h"
#include "tests/lib/oracle.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

enum { LOOKUPS = 3000, OVERTAKEN = 40 };

/* Return a hold. */
static struct ic_inode *look_up(struct inode_rig *f, const char *name)
{
    struct ic_inode *inode;
    struct stat st;

    OK(ic_lookup_uncached(f->ic, inode_rig_root(f), name, &inode, &st));
    g_assert_cmpuint(st.st_ino, ==, ic_inode_ino(inode));
    return inode;
}

static struct ic_inode *list(struct inode_rig *f, const char *name)
{
    struct ic_inode *inode;
    struct stat st;

    OK(ic_lookup_lazy(f->ic, inode_rig_root(f), name, &inode, &st));
    return inode;
}

static int unlink_name(struct inode_rig *f, const char *name)
{
    return ic_unlinkat(f->ic, inode_rig_root(f), name, 0);
}

static int rename_name(struct inode_rig *f, const char *from, const char *to,
                       unsigned flags)
{
    return ic_renameat2(f->ic, inode_rig_root(f), from, inode_rig_root(f), to,
                        flags);
}

static void unhold(struct ic_inode *inode, unsigned n)
{
    while (n-- > 0)
        ic_inode_unhold(inode);
}

/* ---- opening ------------------------------------------------------------- */

static void test_once(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file, *again, *none;
    struct stat st;

    inode_rig_forbid_fds(f);
    file = look_up(f, "file");
    OK(ic_stat_held(f->ic, file, &st));
    g_assert_cmpint(
        ic_lookup_uncached(f->ic, inode_rig_root(f), "none", &none, &st), ==,
        -ENOENT);
    inode_rig_allow_fds(f);
    g_assert_false(inode_rig_is_open(file));
    again = look_up(f, "file");
    g_assert_true(again == file);
    g_assert_true(inode_rig_is_open(file));
    unhold(file, 2);
}

/* A client may be in a directory, or have a FIFO open, without the server
 * knowing. */
static void test_no_file(struct inode_rig *f, gconstpointer data)
{
    g_autofree char *fifo_path = world_host_path(f->world, "fifo");
    g_autofree char *link_path = world_host_path(f->world, "symlink");
    struct ic_inode *dir, *fifo, *symlink_inode;

    OK(mkfifo(fifo_path, 0600));
    OK(symlink("file", link_path));
    g_usleep(INODE_RIG_OLD_US);
    /* At once: the next one may push it out, as few may be open. */
    dir = look_up(f, "dir");
    g_assert_true(inode_rig_is_open(dir));
    fifo = look_up(f, "fifo");
    g_assert_true(inode_rig_is_open(fifo));
    symlink_inode = look_up(f, "symlink");
    g_assert_false(inode_rig_is_open(symlink_inode));
    unhold(symlink_inode, 1);
    unhold(fifo, 1);
    unhold(dir, 1);
}

/* Listing a name is not a use of it. */
static void test_listed_first(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = list(f, "file");

    g_assert_true(look_up(f, "file") == file);
    g_assert_false(inode_rig_is_open(file));
    g_assert_true(list(f, "file") == file);
    g_assert_false(inode_rig_is_open(file));
    g_assert_true(look_up(f, "file") == file);
    g_assert_true(inode_rig_is_open(file));
    unhold(file, 4);
}

/* One lookup by each of two names makes two. */
static void test_two_names(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file;

    inode_rig_link(f, "file", "link");
    file = look_up(f, "file");
    g_assert_true(look_up(f, "link") == file);
    g_assert_true(inode_rig_is_open(file));
    OK(unlink_name(f, "file"));
    OK(unlink_name(f, "link"));
    g_assert_cmpint(inode_rig_links(f, file), ==, 0);
    unhold(file, 2);
}

/* ---- attributes ---------------------------------------------------------- */

static void test_attributes(struct inode_rig *f, gconstpointer data)
{
    g_autofree char *path = world_host_path(f->world, "file");
    struct ic_inode *file = look_up(f, "file");
    struct stat st;

    OK(truncate(path, 77));
    OK(ic_stat_held(f->ic, file, &st));
    g_assert_cmpint(st.st_size, ==, 77);
    OK(rename_name(f, "file", "moved", 0));
    OK(ic_stat_held(f->ic, file, &st));
    g_assert_cmpint(st.st_size, ==, 77);
    g_assert_false(inode_rig_is_open(file));
    inode_rig_rename(f, "other", "moved");
    g_assert_cmpint(ic_stat_held(f->ic, file, &st), ==, -ESTALE);
    unhold(file, 1);
}

/* Links in the log do not count, whether the inode is open or not. */
static void test_log_links(struct inode_rig *f, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    struct ic_inode *file;
    struct stat st;

    inode_rig_link(f, "file", "link");
    file = look_up(f, "file");
    if (data)
        g_assert_true(ic_step_open(f->ic, 1, IC_STEP_COMMAND, "test", &error));
    OK(unlink_name(f, "link"));
    OK(ic_stat_held(f->ic, file, &st));
    g_assert_cmpuint(st.st_nlink, ==, 1);
    g_assert_false(inode_rig_is_open(file));
    unhold(file, 1);
}

/* The next inode with the number does not share its attributes. */
static void test_number_given_again(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = look_up(f, "file");
    struct stat st;

    inode_rig_replace(f, "file");
    g_assert_cmpint(ic_stat_held(f->ic, file, &st), ==, -ESTALE);
    unhold(file, 1);
}

/* ---- removal ------------------------------------------------------------- */

static void test_removed(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = look_up(f, "file"), *other = look_up(f, "other");

    inode_rig_forbid_fds(f);
    if (!data) { /* the log needs fds of its own */
        OK(rename_name(f, "file", "other", 0));
        OK(unlink_name(f, "other"));
    }
    inode_rig_allow_fds(f);
    if (data) {
        OK(rename_name(f, "file", "other", 0));
        OK(unlink_name(f, "other"));
    }
    g_assert_cmpint(inode_rig_links(f, other), ==, -ESTALE);
    g_assert_cmpint(inode_rig_links(f, file), ==, -ESTALE);
    unhold(other, 1);
    unhold(file, 1);
}

/* It has two users, or one that is using it. */
static void test_removed_in_use(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = look_up(f, "file"), *other = look_up(f, "other");
    g_autofree char *text = NULL;

    g_assert_true(look_up(f, "file") == file);
    g_assert_cmpint(inode_rig_links(f, other), ==, 1);
    OK(rename_name(f, "file", "other", 0));
    OK(unlink_name(f, "other"));
    g_assert_cmpint(inode_rig_links(f, file), ==, 0);
    g_assert_cmpint(inode_rig_links(f, other), ==, 0);
    text = inode_rig_read(f, other);
    g_assert_cmpstr(text, ==, "the other");
    unhold(other, 1);
    unhold(file, 2);
}

/* The same if its fd has been closed meanwhile. */
static void test_removed_closed(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = look_up(f, "file"), *other = look_up(f, "other");

    g_assert_cmpint(inode_rig_links(f, file), ==, 1);
    g_assert_true(look_up(f, "other") == other);
    ic_release_fds(f->ic, UINT_MAX);
    g_assert_false(inode_rig_is_open(file));
    g_assert_false(inode_rig_is_open(other));
    OK(unlink_name(f, "file"));
    OK(unlink_name(f, "other"));
    g_assert_cmpint(inode_rig_links(f, file), ==, 0);
    g_assert_cmpint(inode_rig_links(f, other), ==, 0);
    unhold(other, 2);
    unhold(file, 1);
}

/* A change that fails has removed nothing. */
static void test_not_removed(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = look_up(f, "file");

    g_assert_cmpint(ic_unlinkat(f->ic, inode_rig_root(f), "file", AT_REMOVEDIR),
                    ==, -ENOTDIR);
    g_assert_cmpint(rename_name(f, "dir", "file", 0), ==, -ENOTDIR);
    g_assert_cmpint(inode_rig_links(f, file), ==, 1);
    unhold(file, 1);
}

static void test_renamed(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = look_up(f, "file"), *other = look_up(f, "other");

    OK(rename_name(f, "file", "moved", 0));
    OK(rename_name(f, "moved", "other", RENAME_EXCHANGE));
    g_assert_false(inode_rig_is_open(file));
    g_assert_cmpint(inode_rig_links(f, file), ==, 1);
    g_assert_cmpint(inode_rig_links(f, other), ==, 1);
    unhold(other, 1);
    unhold(file, 1);
}

/* The inode at its name is a different one, which must be kept. */
static void test_removed_another(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = look_up(f, "file"), *other = list(f, "other");

    inode_rig_rename(f, "other", "file");
    g_assert_true(look_up(f, "file") == other);
    g_assert_true(look_up(f, "file") == other);
    OK(unlink_name(f, "file"));
    g_assert_cmpint(inode_rig_links(f, other), ==, 0);
    g_assert_cmpint(inode_rig_links(f, file), ==, -ESTALE);
    unhold(other, 3);
    unhold(file, 1);
}

/* The place of its lookup is a hint, and names have moved since. */
static void test_removed_later(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = look_up(f, "file"), *other = list(f, "other");

    OK(rename_name(f, "dir", "folder", 0));
    inode_rig_rename(f, "other", "file");
    OK(unlink_name(f, "file"));
    g_assert_cmpint(inode_rig_links(f, other), ==, 0);
    unhold(other, 1);
    unhold(file, 1);
}

/* Another user arrives between the check for users and the removal: it keeps
 * the inode, though all fds are closed that may be. */
static struct inode_rig *overtaken; /* by the next removal of "inner" */
static struct ic_inode *overtaken_dir;

static struct ic_inode *look_up_inner(struct inode_rig *f, struct ic_inode *dir)
{
    struct ic_inode *inode;
    struct stat st;

    OK(ic_lookup_uncached(f->ic, dir, "inner", &inode, &st));
    return inode;
}

static void overtake(const char *name)
{
    struct inode_rig *f = overtaken;

    if (f && g_strcmp0(name, "inner") == 0) {
        overtaken = NULL;
        ic_inode_unhold(look_up_inner(f, overtaken_dir));
    }
}

/* Overrides libc's, for the library, too. */
int unlinkat(int dirfd, const char *name, int flags)
{
    overtake(name);
    return (int)syscall(SYS_unlinkat, dirfd, name, flags);
}

int renameat2(int from, const char *name, int to, const char *new_name,
              unsigned flags)
{
    overtake(name);
    return (int)syscall(SYS_renameat2, from, name, to, new_name, flags);
}

static void test_removed_overtaken(struct inode_rig *f, gconstpointer data)
{
    g_autofree char *path = world_host_path(f->world, "dir/inner");
    g_autofree char *kept = world_host_path(f->world, "kept");

    inode_rig_rename(f, "dir/inner", "kept");
    for (unsigned i = 0; i < OVERTAKEN; i++) {
        struct ic_inode *dir = look_up(f, "dir"), *inner;

        OK(link(kept, path));
        OK(ic_inode_use(f->ic, dir));
        inner = look_up_inner(f, dir);
        overtaken_dir = dir;
        overtaken = f;
        OK(ic_unlinkat(f->ic, dir, "inner", 0));
        g_assert_null(overtaken);
        ic_inode_unref(dir);
        ic_release_fds(f->ic, UINT_MAX);
        g_assert_cmpint(inode_rig_links(f, inner), ==, 1);
        unhold(inner, 1);
        unhold(dir, 1);
    }
}

/* A server that modes can stop must keep the inode open to reach it then. */
static void test_without_override(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file;

    if (!g_test_subprocess()) {
        g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
        g_test_trap_assert_passed();
        return;
    }
    OK(seteuid(65534));
    file = look_up(f, "file");
    g_assert_true(inode_rig_is_open(file));
    OK(seteuid(0));
    unhold(file, 1);
}

/* A mount over its place has no birth time: the inode is lost until that is
 * gone. */
static void test_mounted_over(struct inode_rig *f, gconstpointer data)
{
    g_autofree char *path = world_host_path(f->world, "file");
    struct ic_inode *file = look_up(f, "file");
    struct stat st;

    if (mount("/proc/version", path, NULL, MS_BIND, NULL) != 0) {
        g_test_skip("mounting is not allowed here");
    } else {
        g_assert_cmpint(ic_stat_held(f->ic, file, &st), ==, -ESTALE);
        OK(umount2(path, MNT_DETACH));
        g_assert_cmpint(inode_rig_links(f, file), ==, 1);
    }
    unhold(file, 1);
}

/* ---- undo ---------------------------------------------------------------- */

static void test_undone(struct inode_rig *f, gconstpointer data)
{
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *trouble = NULL;
    g_autoptr(GError) error = NULL;
    struct ic_inode *file, *other;

    if (!data)
        return;
    file = look_up(f, "file");
    other = look_up(f, "other");
    before = oracle_snapshot(f->world->share, &trouble);
    g_assert_null(trouble);
    g_assert_true(ic_step_open(f->ic, 1, IC_STEP_COMMAND, "test", &error));
    OK(unlink_name(f, "other"));
    OK(rename_name(f, "file", "other", 0));
    g_assert_true(ic_step_close(f->ic, 1, 0, 0, 0, NULL, &error));
    ic_rollback(f->ic, 1, false, NULL, &error);
    g_assert_no_error(error);
    world_assert_equal(f->world, before);
    /* They have not moved, so they are even found again. */
    g_assert_cmpint(inode_rig_links(f, file), ==, 1);
    g_assert_cmpint(inode_rig_links(f, other), ==, 1);
    unhold(other, 1);
    unhold(file, 1);
}

/* ---- threads ------------------------------------------------------------- */

static gpointer move_on(gpointer data)
{
    struct inode_rig *f = data;

    for (unsigned i = 0; i < LOOKUPS; i++)
        OK(rename_name(f, i % 2 ? "moved" : "file", i % 2 ? "file" : "moved",
                       0));
    g_atomic_int_set(&f->stop, 1);
    return NULL;
}

static gpointer look_on(gpointer data)
{
    struct inode_rig *f = data;

    while (!g_atomic_int_get(&f->stop)) {
        struct ic_inode *inode;
        struct stat st;
        int rc = ic_lookup_uncached(f->ic, inode_rig_root(f), "file", &inode,
                                    &st);

        if (rc == -ENOENT)
            continue;
        OK(rc);
        g_assert_cmpint(st.st_size, ==, 4);
        OK(ic_stat_held(f->ic, inode, &st));
        g_assert_cmpint(st.st_size, ==, 4);
        g_assert_cmpint(inode_rig_links(f, inode), ==, 1);
        ic_inode_unhold(inode);
        ic_release_fds(f->ic, UINT_MAX);
    }
    return NULL;
}

static void test_threads(struct inode_rig *f, gconstpointer data)
{
    GThreadFunc work[] = { move_on, look_on, look_on };

    inode_rig_run_threads(f, work, G_N_ELEMENTS(work));
}

static const struct inode_rig_test tests[] = {
    { "one-lookup-opens-nothing", test_once },
    { "directories-and-fifos-stay-open", test_no_file },
    { "listing-is-not-a-use", test_listed_first },
    { "two-names-are-two-lookups", test_two_names },
    { "attributes", test_attributes },
    { "log-links-do-not-count", test_log_links },
    { "reused-number-is-another-inode", test_number_given_again },
    { "removed", test_removed },
    { "removed-in-use", test_removed_in_use },
    { "removed-closed", test_removed_closed },
    { "failed-removal-keeps-it", test_not_removed },
    { "renamed", test_renamed },
    { "replaced-inode-is-kept", test_removed_another },
    { "removed-later", test_removed_later },
    { "removal-with-a-new-user", test_removed_overtaken },
    { "kept-open-if-modes-apply", test_without_override },
    { "mounted-over", test_mounted_over },
    { "undone", test_undone },
    { "threads", test_threads },
};

int main(int argc, char **argv)
{
    /* In a private mount namespace, where that is allowed. */
    if (unshare(CLONE_NEWNS) == 0)
        OK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
    return inode_rig_main(argc, argv, "inode-once", tests, G_N_ELEMENTS(tests));
}
