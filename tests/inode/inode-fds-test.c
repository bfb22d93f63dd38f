/* SPDX-License-Identifier: Apache-2.0
 *
 * inode-fds-test - inodes that are held while there are few fds for them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interceptor/interceptor.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

#define FDS 64 /* one in each shard of the table */

enum { N = 600 };

struct variant {
    bool undo;
    enum ic_file_handles handles;
    bool lazy; /* looked up without opening them */
};

static const struct variant variants[] = {
    { false, IC_FILE_HANDLES_NEVER },
    { true, IC_FILE_HANDLES_NEVER },
    { true, IC_FILE_HANDLES_PREFER },
    { false, IC_FILE_HANDLES_NEVER, .lazy = true },
    { true, IC_FILE_HANDLES_NEVER, .lazy = true },
};

/* The age of a file that can be known without opening it. */
enum { OLD_ENOUGH_US = 150000 };

struct fixture {
    const struct variant *variant;
    struct world *world; /* for its folders; never started */
    struct ic *ic;
    struct ic_inode *held[N]; /* file-0 ... */
};

/* ---- helpers ------------------------------------------------------------- */

static unsigned count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static struct ic_inode *look_up(struct fixture *f, struct ic_inode *dir,
                                const char *name)
{
    struct ic_inode *inode;
    struct stat st;

    if (f->variant->lazy) {
        OK(ic_lookup_lazy(f->ic, dir, name, &inode, &st));
        return inode;
    }
    OK(ic_lookup(f->ic, dir, name, &inode, NULL));
    ic_inode_hold(inode);
    ic_inode_unref(inode);
    return inode;
}

static struct ic_inode *root(struct fixture *f)
{
    return ic_root(f->ic);
}

static char *file_name(unsigned i)
{
    return g_strdup_printf("file-%u", i);
}

static int stat_held(struct fixture *f, struct ic_inode *inode,
                     struct stat *ret_stat)
{
    int rc = ic_inode_use(f->ic, inode);

    if (rc == 0) {
        rc = ic_stat(f->ic, inode, ret_stat);
        g_assert_cmpuint(ret_stat->st_ino, ==, ic_inode_ino(inode));
        ic_inode_unref(inode);
    }
    return rc;
}

/* Have all other inodes closed. */
static void push_out(struct fixture *f)
{
    ic_release_fds(f->ic, UINT_MAX);
}

static void set_up(struct fixture *f, gconstpointer data)
{
    struct ic_options options = { .no_timer = true, .max_inode_fds = FDS };
    g_autoptr(GError) error = NULL;

    f->variant = data;
    f->world = world_new(&world_folder);
    for (unsigned i = 0; i < N; i++) {
        g_autofree char *name = file_name(i);

        world_host_file(f->world, name, name);
    }
    world_host_dir(f->world, "a/b/c");
    world_host_file(f->world, "a/b/c/deep", "deep");
    options.share = f->world->share;
    options.undo_dir = f->variant->undo ? f->world->undo_dir : NULL;
    options.file_handles = f->variant->handles;
    ic_set_log(0, NULL);
    f->ic = ic_open_share(&options, &error);
    g_assert_no_error(error);
    if (f->variant->lazy)
        g_usleep(OLD_ENOUGH_US);
    for (unsigned i = 0; i < N; i++) {
        g_autofree char *name = file_name(i);

        f->held[i] = look_up(f, root(f), name);
    }
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    for (unsigned i = 0; i < N; i++)
        ic_inode_unhold(f->held[i]);
    ic_close(f->ic);
    world_free(f->world);
}

/* ---- the tests ----------------------------------------------------------- */

static void test_bounded(struct fixture *f, gconstpointer data)
{
    struct stat st;

    g_assert_cmpuint(count_fds(), <, FDS + 100);
    for (unsigned turn = 0; turn < 3; turn++) {
        for (unsigned i = 0; i < N; i++)
            OK(stat_held(f, f->held[i], &st));
        g_assert_cmpuint(count_fds(), <, FDS + 100);
    }
    push_out(f);
    g_assert_cmpuint(count_fds(), <, 40);
    /* A lookup by name finds the same inode. */
    for (unsigned i = 0; i < N; i++) {
        g_autofree char *name = file_name(i);
        struct ic_inode *again = look_up(f, root(f), name);

        g_assert_true(again == f->held[i]);
        ic_inode_unhold(again);
    }
}

/* A reference keeps an inode open, whatever other lookups need. */
static void test_used(struct fixture *f, gconstpointer data)
{
    struct stat st;

    OK(ic_inode_use(f->ic, f->held[0]));
    push_out(f);
    OK(fstat(ic_inode_fd(f->held[0]), &st));
    g_assert_cmpuint(st.st_ino, ==, ic_inode_ino(f->held[0]));
    ic_inode_unref(f->held[0]);
}

/* An inode that the engine itself moves is found. */
static void test_moved(struct fixture *f, gconstpointer data)
{
    struct ic_inode *a = look_up(f, root(f), "a"), *b, *c, *deep;
    struct stat st;

    OK(ic_inode_use(f->ic, a));
    b = look_up(f, a, "b");
    OK(ic_inode_use(f->ic, b));
    c = look_up(f, b, "c");
    OK(ic_inode_use(f->ic, c));
    deep = look_up(f, c, "deep");
    ic_inode_unref(a);
    ic_inode_unref(b);
    ic_inode_unref(c);
    push_out(f);
    OK(stat_held(f, deep, &st));
    push_out(f);
    OK(ic_renameat2(f->ic, root(f), "a", root(f), "z", 0));
    OK(ic_renameat2(f->ic, root(f), "file-0", root(f), "file-new", 0));
    OK(ic_renameat2(f->ic, root(f), "file-1", root(f), "file-2",
                    RENAME_EXCHANGE));
    push_out(f);
    OK(stat_held(f, deep, &st));
    for (unsigned i = 0; i < 3; i++)
        OK(stat_held(f, f->held[i], &st));
    ic_inode_unhold(deep);
    ic_inode_unhold(c);
    ic_inode_unhold(b);
    ic_inode_unhold(a);
}

/* An inode that the engine removes stays open. */
static void test_removed(struct fixture *f, gconstpointer data)
{
    struct stat st;

    push_out(f);
    OK(ic_unlinkat(f->ic, root(f), "file-0", 0));
    OK(ic_renameat2(f->ic, root(f), "file-1", root(f), "file-2", 0));
    ic_release_fds(f->ic, UINT_MAX);
    OK(stat_held(f, f->held[0], &st));
    g_assert_cmpuint(st.st_nlink, ==, 0);
    OK(stat_held(f, f->held[1], &st));
    g_assert_cmpuint(st.st_nlink, ==, 1);
    OK(stat_held(f, f->held[2], &st));
    g_assert_cmpuint(st.st_nlink, ==, 0);
    ic_release_fds(f->ic, UINT_MAX);
    OK(stat_held(f, f->held[2], &st));
}

/* Other processes do not go through the engine. */
static void test_outside(struct fixture *f, gconstpointer data)
{
    bool handles = f->variant->handles != IC_FILE_HANDLES_NEVER;
    g_autofree char *one = world_host_path(f->world, "file-1");
    g_autofree char *two = world_host_path(f->world, "file-2");
    g_autofree char *three = world_host_path(f->world, "file-3");
    g_autofree char *four = world_host_path(f->world, "file-4");
    g_autofree char *moved = world_host_path(f->world, "moved");
    struct ic_inode *again;
    struct stat st;

    push_out(f);
    OK(unlink(one));
    OK(rename(two, moved));
    OK(rename(three, four));
    g_assert_cmpint(stat_held(f, f->held[1], &st), ==, -ESTALE);
    if (handles)
        OK(stat_held(f, f->held[2], &st));
    else
        g_assert_cmpint(stat_held(f, f->held[2], &st), ==, -ESTALE);
    g_assert_cmpint(stat_held(f, f->held[4], &st), ==, -ESTALE);
    /* When the client looks it up again, it is usable. */
    again = look_up(f, root(f), "moved");
    g_assert_true(again == f->held[2]);
    OK(stat_held(f, f->held[2], &st));
    ic_inode_unhold(again);
}

/* Another file with the same number is a different file. */
static void test_number_used_again(struct fixture *f, gconstpointer data)
{
    unsigned seen = 0;
    struct stat st;

    push_out(f);
    for (unsigned i = 0; i < N; i++) {
        g_autofree char *name = file_name(i);
        g_autofree char *path = world_host_path(f->world, name);
        struct ic_inode *again;

        OK(unlink(path));
        g_assert_true(g_file_set_contents_full(
            path, "new", 3, G_FILE_SET_CONTENTS_NONE, 0644, NULL));
        again = look_up(f, root(f), name);
        seen += ic_inode_ino(again) == ic_inode_ino(f->held[i]);
        g_assert_true(again != f->held[i]);
        g_assert_cmpint(stat_held(f, f->held[i], &st), ==, -ESTALE);
        OK(stat_held(f, again, &st));
        ic_inode_unhold(again);
    }
    g_test_message("%u numbers were used again", seen);
}

/* Changes and undo find closed inodes. */
static void test_undo(struct fixture *f, gconstpointer data)
{
    struct ic_setattr attr = { .valid = IC_SET_MODE, .mode = 0600 };
    g_autoptr(GError) error = NULL;
    struct ic_rollback_result *redone;
    g_autoptr(GPtrArray) before = NULL;
    g_autofree char *trouble = NULL;
    struct stat st;
    int64_t id = 1;

    if (!f->variant->undo)
        return;
    before = oracle_snapshot(f->world->share, &trouble);
    g_assert_null(trouble);
    g_assert_true(ic_step_open(f->ic, id, IC_STEP_COMMAND, "test", &error));
    push_out(f);
    for (unsigned i = 0; i < N; i++) {
        g_autofree char *name = file_name(i), *to = g_strdup_printf("to-%u", i);
        struct iovec iov = { (char *)"changed", 7 };
        int fd;

        OK(ic_inode_use(f->ic, f->held[i]));
        if (i % 4 == 0) {
            OK(ic_unlinkat(f->ic, root(f), name, 0));
        } else if (i % 4 == 1) {
            OK(ic_renameat2(f->ic, root(f), name, root(f), to, 0));
        } else if (i % 4 == 2) {
            OK(ic_setattr(f->ic, f->held[i], -1, &attr, &st));
        } else {
            OK(ic_open(f->ic, f->held[i], O_WRONLY, &fd));
            g_assert_cmpint(
                ic_pwritev(f->ic, f->held[i], fd, &iov, 1, 0, 0, false), ==, 7);
            close(fd);
        }
        ic_inode_unref(f->held[i]);
    }
    g_assert_true(ic_step_close(f->ic, id, 0, 0, 0, NULL, &error));
    push_out(f);
    ic_rollback(f->ic, 1, false, NULL, &error);
    g_assert_no_error(error);
    world_assert_equal(f->world, before);
    for (unsigned i = 0; i < N; i++)
        OK(stat_held(f, f->held[i], &st));
    push_out(f);
    ic_redo(f->ic, 1, false, &redone, &error);
    g_assert_no_error(error);
    ic_rollback_result_free(redone);
    /* What the undo removed was closed, and is lost to the client. */
    for (unsigned i = 0; i < N; i++) {
        int rc = stat_held(f, f->held[i], &st);

        g_assert_true(rc == 0 || (rc == -ESTALE && i % 4 == 0));
    }
}

/* ---- threads ------------------------------------------------------------- */

static gint stop;

static gpointer rename_on(gpointer data)
{
    struct fixture *f = data;

    for (unsigned turn = 0; turn < 20; turn++) {
        for (unsigned i = 0; i < 100; i++) {
            g_autofree char *one = g_strdup_printf("file-%u", i);
            g_autofree char *two = g_strdup_printf("other-%u", i);
            bool back = turn % 2;

            OK(ic_renameat2(f->ic, root(f), back ? two : one, root(f),
                            back ? one : two, 0));
        }
    }
    g_atomic_int_set(&stop, 1);
    return NULL;
}

static gpointer use_on(gpointer data)
{
    struct fixture *f = data;
    struct stat st;

    while (!g_atomic_int_get(&stop)) {
        for (unsigned i = 0; i < 100; i++)
            OK(stat_held(f, f->held[i], &st));
    }
    return NULL;
}

static gpointer push_on(gpointer data)
{
    struct fixture *f = data;

    while (!g_atomic_int_get(&stop))
        ic_release_fds(f->ic, UINT_MAX);
    return NULL;
}

/* No inode is lost while it moves. */
static void test_threads(struct fixture *f, gconstpointer data)
{
    GThreadFunc work[] = { rename_on, use_on, use_on, push_on };
    GThread *threads[G_N_ELEMENTS(work)];

    g_atomic_int_set(&stop, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(work); i++)
        threads[i] = g_thread_new("inodes", work[i], f);
    for (size_t i = 0; i < G_N_ELEMENTS(work); i++)
        g_thread_join(threads[i]);
}

static const struct {
    const char *name;
    void (*run)(struct fixture *f, gconstpointer data);
} tests[] = {
    { "open-fds-are-bounded", test_bounded },
    { "reference-keeps-open", test_used },
    { "moved-inode-is-found", test_moved },
    { "removed-inode-stays-open", test_removed },
    { "outside-move-is-noticed", test_outside },
    { "reused-number-is-another-inode", test_number_used_again },
    { "undo-finds-closed-inodes", test_undo },
    { "threads", test_threads },
};

int main(int argc, char **argv)
{
    static const char *const names[] = { "no-undo", "undo", "handles",
                                         "no-undo-lazy", "undo-lazy" };

    umask(0);
    g_test_init(&argc, &argv, NULL);
    for (size_t v = 0; v < G_N_ELEMENTS(variants); v++) {
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
            g_autofree char *path = g_strdup_printf("/inode-fds/%s/%s",
                                                    names[v], tests[i].name);

            g_test_add(path, struct fixture, &variants[v], set_up, tests[i].run,
                       tear_down);
        }
    }
    return g_test_run();
}
