/* SPDX-License-Identifier: Apache-2.0
 *
 * inode-look-test - lookups of what is known, which open nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interceptor/interceptor.h"
#include "tests/oracle.h"
#include "tests/world.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

enum { LOOKERS = 3, REPLACEMENTS = 20000 };

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

/* No number is left for another fd. */
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

/* What others put there is another inode, whatever was there. */
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

/* Each file that is put there has a size of its own: is the inode that was
 * found the one that the stat is of? Freed numbers are given again. */
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
    GThread *threads[LOOKERS + 1];

    for (unsigned i = 0; i < LOOKERS; i++)
        threads[i] = g_thread_new("look", look_on, f);
    threads[LOOKERS] = g_thread_new("release", release_on, f);
    for (unsigned i = 1; i <= REPLACEMENTS; i++) {
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
    { "put-by-others", test_put_by_others },
    { "replaced", test_replaced },
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
