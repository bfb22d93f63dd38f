/* SPDX-License-Identifier: Apache-2.0
 *
 * inode-look-test - lookups of known inodes open nothing.
 *
 * STEPBACK_LOOK_ROUNDS is how often a file is replaced below three readers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interceptor/interceptor.h"
#include "interceptor/sys/fault.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

enum { LOOKERS = 3, REPLACEMENTS = 4000, TURNS = 5000 };

struct fixture {
    struct world *world; /* for its folders; never started */
    struct ic *ic;
    int stop;
};

static void set_up(struct fixture *f, gconstpointer data)
{
    struct ic_options options = { .no_timer = true };
    g_autoptr(GError) error = NULL;

    f->world = world_new(&world_folder);
    world_host_file(f->world, "file", "file");
    world_host_dir(f->world, "dir");
    options.share = f->world->share;
    options.undo_dir = data ? f->world->undo_dir : NULL;
    f->ic = ic_open_share(&options, &error);
    g_assert_no_error(error);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    ic_close(f->ic);
    world_free(f->world);
}

static struct ic_inode *look_up(struct fixture *f, struct ic_inode *dir,
                                const char *name, struct stat *ret_stat)
{
    struct ic_inode *inode;

    OK(ic_lookup(f->ic, dir, name, &inode, ret_stat));
    g_assert_cmpuint(ret_stat->st_ino, ==, ic_inode_ino(inode));
    return inode;
}

/* Leave no number for another fd. */
static void forbid_fds(struct rlimit *ret_old)
{
    struct rlimit none;

    OK(getrlimit(RLIMIT_NOFILE, ret_old));
    none = *ret_old;
    none.rlim_cur = 3;
    OK(setrlimit(RLIMIT_NOFILE, &none));
}

static void test_needs_no_fd(struct fixture *f, gconstpointer data)
{
    struct stat first, second;
    struct ic_inode *file = look_up(f, ic_root(f->ic), "file", &first);
    struct ic_inode *again, *other;
    struct rlimit old;
    int unknown;

    forbid_fds(&old);
    again = look_up(f, ic_root(f->ic), "file", &second);
    unknown = ic_lookup(f->ic, ic_root(f->ic), "dir", &other, &second);
    OK(setrlimit(RLIMIT_NOFILE, &old));
    g_assert_true(again == file);
    g_assert_cmpint(unknown, ==, -EMFILE);
    ic_inode_unref(again);
    ic_inode_unref(file);
}

/* What another process puts at a name is a different inode, whatever was there
 * before. */
static void test_put_by_others(struct fixture *f, gconstpointer data)
{
    g_autofree char *path = world_host_path(f->world, "file");
    g_autofree char *moved = world_host_path(f->world, "moved");
    struct stat st;
    struct ic_inode *file = look_up(f, ic_root(f->ic), "file", &st);
    struct ic_inode *found;

    OK(rename(path, moved));
    g_assert_cmpint(ic_lookup(f->ic, ic_root(f->ic), "file", &found, &st), ==,
                    -ENOENT);
    world_host_file(f->world, "file", "another one");
    found = look_up(f, ic_root(f->ic), "file", &st);
    g_assert_true(found != file);
    g_assert_cmpint(st.st_size, ==, 11);
    ic_inode_unref(found);
    found = look_up(f, ic_root(f->ic), "moved", &st);
    g_assert_true(found == file);
    ic_inode_unref(found);
    OK(rename(moved, path));
    found = look_up(f, ic_root(f->ic), "file", &st);
    g_assert_true(found == file);
    ic_inode_unref(found);
    ic_inode_unref(file);
}

static void rename_file(struct fixture *f, const char *from, const char *to)
{
    struct ic_inode *root = ic_root(f->ic);

    OK(ic_renameat2(f->ic, root, from, root, to, 0));
}

#ifdef STEPBACK_FAULT_INJECTION

static struct fault_board board;

static void count_looks(void)
{
    /* A point that is never reached: looks are counted until then. */
    const struct fault_plan plan = { .action = FAULT_LOOK_ERRNO,
                                     .point = UINT_MAX };

    fault_use(&board);
    fault_set(&board, &plan);
}

static unsigned looks(void)
{
    return atomic_load(&board.looks);
}

#else

static void count_looks(void)
{
}

static unsigned looks(void)
{
    return 0;
}

#endif

/* A step has recorded both names: a rename needs no lookup, and the new place
 * is known. */
static void test_renamed(struct fixture *f, gconstpointer data)
{
    struct stat st;
    struct ic_inode *file = look_up(f, ic_root(f->ic), "file", &st), *again;
    struct rlimit old;

    if (!data) {
        g_test_skip("without undo, places are known of lookups alone");
        ic_inode_unref(file);
        return;
    }
    rename_file(f, "file", "moved");
    rename_file(f, "moved", "file");
    count_looks();
    rename_file(f, "file", "moved");
    g_assert_cmpuint(looks(), ==, 0);
    g_assert_cmpint(
        ic_renameat2(f->ic, ic_root(f->ic), "file", ic_root(f->ic), "moved", 0),
        ==, -ENOENT);
    forbid_fds(&old);
    again = look_up(f, ic_root(f->ic), "moved", &st);
    OK(setrlimit(RLIMIT_NOFILE, &old));
    g_assert_true(again == file);
    ic_inode_unref(again);
    ic_inode_unref(file);
}

/* Nor does the check that a name in the step's directory is free. */
static void test_made(struct fixture *f, gconstpointer data)
{
    struct ic_cred cred = { .umask = 022 };
    struct ic_inode *dir, *file;

    OK(ic_mkdirat(f->ic, &cred, ic_root(f->ic), "made", 0755, &dir, NULL));
    OK(ic_mknodat(f->ic, &cred, dir, "file", S_IFREG | 0644, 0, &file, NULL));
    ic_inode_unref(file);
    count_looks();
    g_assert_cmpint(
        ic_mknodat(f->ic, &cred, dir, "file", S_IFREG | 0644, 0, &file, NULL),
        ==, -EEXIST);
    g_assert_cmpint(ic_mkdirat(f->ic, &cred, dir, "file", 0755, &file, NULL),
                    ==, -EEXIST);
    g_assert_cmpint(ic_symlinkat(f->ic, &cred, "to", dir, "file", &file, NULL),
                    ==, -EEXIST);
    g_assert_cmpuint(looks(), ==, 0);
    ic_inode_unref(dir);
}

/* An inode found at a name that was left is opened once and examined once. */
static void meet_anew(struct fixture *f, const char *name,
                      const struct ic_inode *old)
{
    struct ic_inode *found;
    struct stat st;

    world_host_file(f->world, name, "another one");
    count_looks();
    found = look_up(f, ic_root(f->ic), name, &st);
    g_assert_cmpuint(looks(), <=, 2);
    g_assert_true(found != old);
    ic_inode_unref(found);
}

static void test_met_anew(struct fixture *f, gconstpointer data)
{
    struct ic_inode *root = ic_root(f->ic);
    struct stat st;
    struct ic_inode *file = look_up(f, root, "file", &st);

    rename_file(f, "file", "moved");
    meet_anew(f, "file", file);
    OK(ic_unlinkat(f->ic, root, "moved", 0));
    meet_anew(f, "moved", file);
    ic_inode_unref(file);
}

/* Another process has put something else at a known name. */
static void test_renamed_another(struct fixture *f, gconstpointer data)
{
    g_autofree char *path = world_host_path(f->world, "file");
    g_autofree char *kept = world_host_path(f->world, "kept");
    struct stat st;
    struct ic_inode *file = look_up(f, ic_root(f->ic), "file", &st), *found;

    rename_file(f, "file", "moved");
    rename_file(f, "moved", "file");
    OK(rename(path, kept));
    world_host_dir(f->world, "file");
    rename_file(f, "file", "moved");
    found = look_up(f, ic_root(f->ic), "moved", &st);
    g_assert_true(S_ISDIR(st.st_mode) && found != file);
    ic_inode_unref(found);
    found = look_up(f, ic_root(f->ic), "kept", &st);
    g_assert_true(found == file);
    ic_inode_unref(found);
    ic_inode_unref(file);
}

/* An inode that was moved while there were fds for all, and is closed later
 * together with its directory, is found again. */
static void close_and_use(struct fixture *f, struct ic_inode *dir,
                          struct ic_inode *file)
{
    struct stat st;

    ic_inode_hold(dir);
    ic_inode_unref(dir);
    ic_release_fds(f->ic, UINT_MAX);
    ic_inode_hold(file);
    ic_inode_unref(file);
    ic_release_fds(f->ic, UINT_MAX);
    OK(ic_inode_use(f->ic, file));
    OK(ic_stat(f->ic, file, &st));
    g_assert_cmpuint(st.st_ino, ==, ic_inode_ino(file));
    ic_inode_unref(file);
    ic_inode_unhold(file);
    ic_inode_unhold(dir);
}

/* Moves the name back and forth in another thread, once per turn. */
struct mover {
    struct fixture *f;
    struct ic_inode *dir;
    int begun, ended; /* turns */
};

static const char *const mover_names[] = { "old", "new" };

static gpointer move_on(gpointer data)
{
    struct mover *mover = data;

    for (int i = 0; i < TURNS; i++) {
        while (g_atomic_int_get(&mover->begun) <= i)
            ;
        OK(ic_renameat2(mover->f->ic, mover->dir, mover_names[i % 2],
                        mover->dir, mover_names[(i + 1) % 2], 0));
        g_atomic_int_set(&mover->ended, i + 1);
    }
    return NULL;
}

/* An inode that was moved away during its lookup is not assumed to be there
 * still. */
static void test_moved_meanwhile(struct fixture *f, gconstpointer data)
{
    struct stat st;
    struct mover mover = { .f = f };
    struct ic_inode *dir = look_up(f, ic_root(f->ic), "dir", &st), *file;
    GThread *thread;

    world_host_file(f->world, "dir/old", "old");
    mover.dir = dir;
    ic_inode_hold(dir);
    ic_inode_unref(dir);
    thread = g_thread_new("move", move_on, &mover);
    for (int i = 0; i < TURNS; i++) {
        int rc;

        OK(ic_inode_use(f->ic, dir));
        g_atomic_int_set(&mover.begun, i + 1);
        rc = ic_lookup(f->ic, dir, mover_names[i % 2], &file, &st);
        while (g_atomic_int_get(&mover.ended) <= i)
            ;
        if (rc == 0)
            close_and_use(f, dir, file);
        else
            ic_inode_unref(dir);
        g_assert_true(rc == 0 || rc == -ENOENT);
    }
    g_thread_join(thread);
    ic_inode_unhold(dir);
}

static void test_closed_later(struct fixture *f, gconstpointer data)
{
    struct stat st;
    struct ic_inode *dir = look_up(f, ic_root(f->ic), "dir", &st), *file;

    world_host_file(f->world, "dir/old", "old");
    file = look_up(f, dir, "old", &st);
    OK(ic_renameat2(f->ic, dir, "old", dir, "new", 0));
    close_and_use(f, dir, file);
}

static void test_unlinked_closed_later(struct fixture *f, gconstpointer data)
{
    struct stat st;
    struct ic_inode *dir = look_up(f, ic_root(f->ic), "dir", &st), *file;

    world_host_file(f->world, "dir/old", "old");
    file = look_up(f, dir, "old", &st);
    OK(ic_linkat(f->ic, file, dir, "new", NULL));
    OK(ic_unlinkat(f->ic, dir, "new", 0));
    close_and_use(f, dir, file);
}

static void test_exchanged_closed_later(struct fixture *f, gconstpointer data)
{
    struct stat st;
    struct ic_inode *dir = look_up(f, ic_root(f->ic), "dir", &st), *file;

    world_host_file(f->world, "dir/old", "old");
    world_host_file(f->world, "dir/new", "new");
    file = look_up(f, dir, "old", &st);
    OK(ic_renameat2(f->ic, dir, "old", dir, "new", RENAME_EXCHANGE));
    close_and_use(f, dir, file);
}

/* Each file that is put there has a different size: check that the inode found
 * is the one of the stat. Freed numbers are reused. */
static gpointer look_on(gpointer data)
{
    struct fixture *f = data;

    while (!g_atomic_int_get(&f->stop)) {
        struct stat found, st;
        struct ic_inode *inode = look_up(f, ic_root(f->ic), "file", &found);

        OK(ic_stat(f->ic, inode, &st));
        g_assert_cmpint(found.st_size, ==, st.st_size);
        ic_inode_unref(inode);
    }
    return NULL;
}

static gpointer release_on(gpointer data)
{
    struct fixture *f = data;

    while (!g_atomic_int_get(&f->stop))
        ic_release_fds(f->ic, UINT_MAX);
    return NULL;
}

static void test_replaced(struct fixture *f, gconstpointer data)
{
    g_autofree char *path = world_host_path(f->world, "file");
    g_autofree char *fresh = world_host_path(f->world, "fresh");
    const char *given = g_getenv("STEPBACK_LOOK_ROUNDS");
    unsigned count = given ? (unsigned)atoi(given) : REPLACEMENTS;
    GThread *threads[LOOKERS + 1];

    for (unsigned i = 0; i < LOOKERS; i++)
        threads[i] = g_thread_new("look", look_on, f);
    threads[LOOKERS] = g_thread_new("release", release_on, f);
    for (unsigned i = 1; i <= count; i++) {
        world_host_file(f->world, "fresh", "");
        OK(truncate(fresh, i));
        OK(rename(fresh, path));
    }
    g_atomic_int_set(&f->stop, 1);
    for (unsigned i = 0; i <= LOOKERS; i++)
        g_thread_join(threads[i]);
}

static const struct {
    const char *name;
    void (*run)(struct fixture *f, gconstpointer data);
} tests[] = {
    { "needs-no-fd", test_needs_no_fd },
    { "foreign-inode-is-another", test_put_by_others },
    { "replaced", test_replaced },
    { "renamed", test_renamed },
    { "new-name-needs-no-lookup", test_made },
    { "found-at-a-left-name", test_met_anew },
    { "renamed-another", test_renamed_another },
    { "moved-during-lookup", test_moved_meanwhile },
    { "closed-later", test_closed_later },
    { "unlinked-closed-later", test_unlinked_closed_later },
    { "exchanged-closed-later", test_exchanged_closed_later },
};

int main(int argc, char **argv)
{
    static const bool with_undo[] = { false, true };

    umask(0);
    g_test_init(&argc, &argv, NULL);
    for (size_t v = 0; v < G_N_ELEMENTS(with_undo); v++) {
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
            g_autofree char *path = g_strdup_printf(
                "/inode-look/%s/%s", with_undo[v] ? "undo" : "no-undo",
                tests[i].name);

            g_test_add(path, struct fixture, GSIZE_TO_POINTER(with_undo[v]),
                       set_up, tests[i].run, tear_down);
        }
    }
    return g_test_run();
}
