/* SPDX-License-Identifier: Apache-2.0
 *
 * inode-lazy-test - a listed inode is known without having been open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/inode/inode_rig.h"
#include "tests/lib/oracle.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

enum { RENAMES = 3000, HOARD = 200 };

/* Return a hold. */
static struct ic_inode *meet(struct inode_rig *f, struct ic_inode *dir,
                             const char *name)
{
    struct ic_inode *inode;
    struct stat st;

    OK(ic_lookup_lazy(f->ic, dir, name, &inode, &st));
    g_assert_cmpuint(st.st_ino, ==, ic_inode_ino(inode));
    return inode;
}

/* ---- known inodes -------------------------------------------------------- */

static void test_opens_nothing(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file, *dir;

    inode_rig_forbid_fds(f);
    file = meet(f, inode_rig_root(f), "file");
    dir = meet(f, inode_rig_root(f), "dir");
    inode_rig_allow_fds(f);
    g_assert_false(inode_rig_is_open(file));
    g_assert_true(S_ISDIR(ic_inode_type(dir)));
    g_assert_cmpint(inode_rig_links(f, file), ==, 1);
    g_assert_true(inode_rig_is_open(file));
    ic_inode_unhold(dir);
    ic_inode_unhold(file);
}

/* The birth time cannot tell a young inode from the next one with its number.
 */
static void test_young(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *young;

    world_host_file(f->world, "young", "young");
    young = meet(f, inode_rig_root(f), "young");
    g_assert_true(inode_rig_is_open(young));
    ic_inode_unhold(young);
}

static void test_no_such(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *inode;
    struct stat st;

    g_assert_cmpint(
        ic_lookup_lazy(f->ic, inode_rig_root(f), "none", &inode, &st), ==,
        -ENOENT);
    g_assert_cmpint(ic_lookup_lazy(f->ic, inode_rig_root(f), "..", &inode, &st),
                    ==, -EINVAL);
    g_assert_cmpint(
        ic_lookup_lazy(f->ic, inode_rig_root(f), "dir/inner", &inode, &st), ==,
        -EINVAL);
}

/* However and by whatever name it is looked up, it is one inode. */
static void test_is_one(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *listed = meet(f, inode_rig_root(f), "file"), *again,
                    *found;
    struct stat st;

    inode_rig_link(f, "file", "link");
    again = meet(f, inode_rig_root(f), "link");
    g_assert_true(again == listed);
    g_assert_false(inode_rig_is_open(listed));
    OK(ic_lookup(f->ic, inode_rig_root(f), "file", &found, &st));
    g_assert_true(found == listed);
    ic_inode_unhold(again);
    again = meet(f, inode_rig_root(f), "file");
    g_assert_true(again == listed);
    ic_inode_unref(found);
    ic_inode_unhold(again);
    ic_inode_unhold(listed);
}

/* If another thread renames an inode between a listing's stat and the end of
 * that listing, the inode is at its new place. */
static struct inode_rig *overtaken; /* by the next statx() of "file" */

static gpointer move_file(gpointer data)
{
    struct inode_rig *f = data;

    OK(ic_renameat2(f->ic, inode_rig_root(f), "file", inode_rig_root(f),
                    "moved", 0));
    return NULL;
}

/* Overrides libc's, for the library, too. */
int statx(int dirfd, const char *restrict name, int flags, unsigned mask,
          struct statx *restrict ret_stat)
{
    int rc = (int)syscall(SYS_statx, dirfd, name, flags, mask, ret_stat);
    struct inode_rig *f = overtaken;

    if (f && strcmp(name, "file") == 0) {
        overtaken = NULL;
        g_thread_join(g_thread_new("move", move_file, f));
    }
    return rc;
}

static void test_overtaken(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = meet(f, inode_rig_root(f), "file"), *again;
    struct stat st;

    overtaken = f;
    g_assert_cmpint(
        ic_lookup_lazy(f->ic, inode_rig_root(f), "file", &again, &st), ==,
        -ENOENT);
    g_assert_null(overtaken);
    g_assert_cmpint(inode_rig_links(f, file), ==, 1);
    ic_inode_unhold(file);
}

/* ---- changes by other processes ------------------------------------------ */

static void test_moved_by_others(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = meet(f, inode_rig_root(f), "file"), *again;

    inode_rig_rename(f, "other", "file");
    g_assert_cmpint(inode_rig_links(f, file), ==, -ESTALE);
    again = meet(f, inode_rig_root(f), "file");
    g_assert_true(again != file);
    g_assert_cmpint(inode_rig_links(f, again), ==, 1);
    ic_inode_unhold(again);
    ic_inode_unhold(file);
}

/* The next file with the same number is a different inode. */
static void test_number_given_again(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = meet(f, inode_rig_root(f), "file"), *again;

    inode_rig_replace(f, "file");
    g_usleep(INODE_RIG_OLD_US);
    again = meet(f, inode_rig_root(f), "file");
    g_assert_true(again != file);
    g_assert_cmpint(inode_rig_links(f, file), ==, -ESTALE);
    g_assert_cmpint(inode_rig_links(f, again), ==, 1);
    ic_inode_unhold(again);
    ic_inode_unhold(file);
}

/* It is not lost, access is denied. */
static void test_forbidden(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *dir = meet(f, inode_rig_root(f), "dir"), *inner;
    g_autofree char *path = world_host_path(f->world, "dir");

    OK(ic_inode_use(f->ic, dir));
    inner = meet(f, dir, "inner");
    OK(fchmodat(AT_FDCWD, path, 0, 0));
    OK(seteuid(65534));
    g_assert_cmpint(inode_rig_links(f, inner), ==, -EACCES);
    OK(seteuid(0));
    OK(fchmodat(AT_FDCWD, path, 0755, 0));
    g_assert_cmpint(inode_rig_links(f, inner), ==, 1);
    ic_inode_unhold(inner);
    ic_inode_unref(dir);
    ic_inode_unhold(dir);
}

/* ---- changes by the engine ----------------------------------------------- */

static void test_renamed(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = meet(f, inode_rig_root(f), "file");
    struct ic_inode *other = meet(f, inode_rig_root(f), "other");
    struct ic_inode *dir = meet(f, inode_rig_root(f), "dir"), *inner;

    OK(ic_inode_use(f->ic, dir));
    inner = meet(f, dir, "inner");
    OK(ic_renameat2(f->ic, inode_rig_root(f), "dir", inode_rig_root(f),
                    "folder", 0));
    OK(ic_renameat2(f->ic, inode_rig_root(f), "file", dir, "file", 0));
    OK(ic_renameat2(f->ic, dir, "file", inode_rig_root(f), "other",
                    RENAME_EXCHANGE));
    g_assert_cmpint(inode_rig_links(f, inner), ==, 1);
    g_assert_cmpint(inode_rig_links(f, file), ==, 1);
    g_assert_cmpint(inode_rig_links(f, other), ==, 1);
    ic_inode_unhold(inner);
    ic_inode_unref(dir);
    ic_inode_unhold(dir);
    ic_inode_unhold(other);
    ic_inode_unhold(file);
}

/* A client may hold what it removes. */
static void test_removed(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = meet(f, inode_rig_root(f), "file");
    struct ic_inode *other = meet(f, inode_rig_root(f), "other");
    struct ic_inode *dir = meet(f, inode_rig_root(f), "dir");
    g_autofree char *text = NULL;

    OK(ic_renameat2(f->ic, inode_rig_root(f), "file", inode_rig_root(f),
                    "other", 0));
    OK(ic_inode_use(f->ic, dir));
    OK(ic_unlinkat(f->ic, dir, "inner", 0));
    ic_inode_unref(dir);
    OK(ic_unlinkat(f->ic, inode_rig_root(f), "dir", AT_REMOVEDIR));
    g_assert_cmpint(inode_rig_links(f, other), ==, 0);
    g_assert_cmpint(inode_rig_links(f, dir), >=, 0);
    text = inode_rig_read(f, other);
    g_assert_cmpstr(text, ==, "the other");
    OK(ic_unlinkat(f->ic, inode_rig_root(f), "other", 0));
    g_assert_cmpint(inode_rig_links(f, file), ==, 0);
    ic_inode_unhold(dir);
    ic_inode_unhold(other);
    ic_inode_unhold(file);
}

/* Of two names the last one by which the inode was looked up counts. */
static void test_removed_link(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file, *again;

    inode_rig_link(f, "file", "link");
    file = meet(f, inode_rig_root(f), "file");
    again = meet(f, inode_rig_root(f), "link");
    OK(ic_unlinkat(f->ic, inode_rig_root(f), "link", 0));
    g_assert_cmpint(inode_rig_links(f, file), ==, 1);
    ic_inode_unhold(again);
    ic_inode_unhold(file);
}

/* That removes nothing: the inode can be closed as before. */
static void test_renamed_to_itself(struct inode_rig *f, gconstpointer data)
{
    struct ic_inode *file = meet(f, inode_rig_root(f), "file");

    inode_rig_link(f, "file", "link");
    g_assert_cmpint(inode_rig_links(f, file), ==, 2);
    OK(ic_renameat2(f->ic, inode_rig_root(f), "file", inode_rig_root(f), "file",
                    0));
    OK(ic_renameat2(f->ic, inode_rig_root(f), "link", inode_rig_root(f), "file",
                    0));
    ic_release_fds(f->ic, UINT_MAX);
    g_assert_false(inode_rig_is_open(file));
    g_assert_cmpint(inode_rig_links(f, file), ==, 2);
    ic_inode_unhold(file);
}

/* The last fds are not for removed inodes, open or not. */
static void hoard(struct inode_rig *f, bool open)
{
    struct ic_inode *held[HOARD];
    unsigned lost = 0;

    for (unsigned i = 0; i < HOARD; i++) {
        g_autofree char *name = g_strdup_printf("hoard-%u", i);

        world_host_file(f->world, name, name);
    }
    g_usleep(INODE_RIG_OLD_US);
    for (unsigned i = 0; i < HOARD; i++) {
        g_autofree char *name = g_strdup_printf("hoard-%u", i);
        int fd;

        held[i] = meet(f, inode_rig_root(f), name);
        if (open)
            g_assert_cmpint(inode_rig_links(f, held[i]), ==, 1);
        OK(ic_unlinkat(f->ic, inode_rig_root(f), name, 0));
        fd = dup(ic_inode_fd(inode_rig_root(f)));
        g_assert_cmpint(fd, <=, INODE_RIG_RESERVE + 2);
        close(fd);
    }
    for (unsigned i = 0; i < HOARD; i++) {
        int links = inode_rig_links(f, held[i]);

        lost += links == -ESTALE;
        g_assert_true(links == 0 || links == -ESTALE);
        ic_inode_unhold(held[i]);
    }
    g_assert_cmpuint(lost, >, 0);
    g_assert_cmpuint(lost, <, HOARD - INODE_RIG_RESERVE / 2);
}

static void test_hoarded(struct inode_rig *f, gconstpointer data)
{
    hoard(f, false);
}

static void test_hoarded_open(struct inode_rig *f, gconstpointer data)
{
    hoard(f, true);
}

/* ---- undo ---------------------------------------------------------------- */

static void test_undone(struct inode_rig *f, gconstpointer data)
{
    struct ic_setattr attr = { .valid = IC_SET_MODE, .mode = 0600 };
    struct ic_inode *file = meet(f, inode_rig_root(f), "file");
    struct ic_inode *other = meet(f, inode_rig_root(f), "other");
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *trouble = NULL;
    g_autoptr(GError) error = NULL;
    struct stat st;

    if (!data)
        goto out;
    before = oracle_snapshot(f->world->share, &trouble);
    g_assert_null(trouble);
    g_assert_true(ic_step_open(f->ic, 1, IC_STEP_COMMAND, "test", &error));
    OK(ic_renameat2(f->ic, inode_rig_root(f), "file", inode_rig_root(f),
                    "dir-file", 0));
    OK(ic_inode_use(f->ic, file));
    OK(ic_setattr(f->ic, file, -1, &attr, &st));
    ic_inode_unref(file);
    OK(ic_unlinkat(f->ic, inode_rig_root(f), "other", 0));
    g_assert_true(ic_step_close(f->ic, 1, 0, 0, 0, NULL, &error));
    ic_rollback(f->ic, 1, false, NULL, &error);
    g_assert_no_error(error);
    world_assert_equal(f->world, before);
    g_assert_cmpint(inode_rig_links(f, file), ==, 1);
    g_assert_cmpint(inode_rig_links(f, other), ==, 1);
out:
    ic_inode_unhold(other);
    ic_inode_unhold(file);
}

/* ---- threads ------------------------------------------------------------- */

static gpointer rename_on(gpointer data)
{
    struct inode_rig *f = data;

    for (unsigned i = 0; i < RENAMES; i++)
        OK(ic_renameat2(f->ic, inode_rig_root(f), i % 2 ? "moved" : "file",
                        inode_rig_root(f), i % 2 ? "file" : "moved", 0));
    g_atomic_int_set(&f->stop, 1);
    return NULL;
}

static gpointer list_on(gpointer data)
{
    struct inode_rig *f = data;

    while (!g_atomic_int_get(&f->stop)) {
        struct ic_inode *inode;
        struct stat st;
        int rc = ic_lookup_lazy(f->ic, inode_rig_root(f), "file", &inode, &st);

        if (rc == -ENOENT)
            continue;
        OK(rc);
        g_assert_cmpint(st.st_size, ==, 4);
        g_assert_cmpint(inode_rig_links(f, inode), ==, 1);
        ic_inode_unhold(inode);
        ic_release_fds(f->ic, UINT_MAX);
    }
    return NULL;
}

/* A thread that has a hold all the time never loses the inode. */
static gpointer use_on(gpointer data)
{
    struct inode_rig *f = data;
    struct ic_inode *other = meet(f, inode_rig_root(f), "other");

    while (!g_atomic_int_get(&f->stop)) {
        struct ic_inode *again = meet(f, inode_rig_root(f), "other");

        g_assert_true(again == other);
        g_assert_cmpint(inode_rig_links(f, again), ==, 1);
        ic_inode_unhold(again);
    }
    ic_inode_unhold(other);
    return NULL;
}

static void test_threads(struct inode_rig *f, gconstpointer data)
{
    GThreadFunc work[] = { rename_on, list_on, list_on, use_on };

    inode_rig_run_threads(f, work, G_N_ELEMENTS(work));
}

static const struct inode_rig_test tests[] = {
    { "opens-nothing", test_opens_nothing },
    { "young-inode-stays-open", test_young },
    { "no-such", test_no_such },
    { "all-lookups-find-one-inode", test_is_one },
    { "rename-during-listing", test_overtaken },
    { "moved-by-others", test_moved_by_others },
    { "reused-number-is-another-inode", test_number_given_again },
    { "denied-is-not-lost", test_forbidden },
    { "renamed", test_renamed },
    { "renamed-to-itself", test_renamed_to_itself },
    { "removed", test_removed },
    { "removed-link", test_removed_link },
    { "last-fds-are-not-for-removed-inodes", test_hoarded },
    { "last-fds-are-not-for-removed-open-inodes", test_hoarded_open },
    { "undone", test_undone },
    { "threads", test_threads },
};

int main(int argc, char **argv)
{
    return inode_rig_main(argc, argv, "inode-lazy", tests, G_N_ELEMENTS(tests));
}
