/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_case_index_tests - the index of names that differ only in case.
 *
 * It is short of some resource here. Ids: WN-01.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interceptor/sys/sys.h"
#include "p9/profile/case_index.h"
#include "tests/p9/p9_tests.h"

#define OK(call) g_assert_cmpint(call, ==, 0)

struct fixture {
    char *share;
    struct ic *ic;
    struct case_index *index;
};

static void set_up(struct fixture *f, gconstpointer data)
{
    struct ic_options options = { .no_timer = true, .no_watch = true };

    f->share = g_build_filename(g_get_tmp_dir(), "stepback-case-XXXXXX", NULL);
    g_assert_nonnull(g_mkdtemp(f->share));
    options.share = f->share;
    f->ic = ic_open_share(&options, NULL);
    g_assert_nonnull(f->ic);
    f->index = case_index_new();
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    case_index_free(f->index);
    ic_close(f->ic);
    sys_remove_tree(AT_FDCWD, f->share);
    g_free(f->share);
}

static void make_file(struct fixture *f, const char *name)
{
    g_autofree char *path = g_build_filename(f->share, name, NULL);

    g_assert_true(g_file_set_contents(path, "", 0, NULL));
}

static void remove_file(struct fixture *f, const char *name)
{
    g_autofree char *path = g_build_filename(f->share, name, NULL);

    OK(g_unlink(path));
}

static int ask(struct fixture *f, const char *name)
{
    return case_index_collides(f->index, ic_root(f->ic), name, NULL);
}

static int ask_in(struct fixture *f, const char *dir, const char *name)
{
    struct ic_inode *inode;
    int r;

    OK(ic_lookup(f->ic, ic_root(f->ic), dir, &inode, NULL));
    r = case_index_collides(f->index, inode, name, NULL);
    ic_inode_unref(inode);
    return r;
}

/* ---- the tests ----------------------------------------------------------- */

static void test_follows(struct fixture *f, gconstpointer data)
{
    make_file(f, "One");
    g_assert_cmpint(ask(f, "one"), ==, 1);
    g_assert_cmpint(ask(f, "One"), ==, 0);
    g_assert_cmpint(ask(f, "two"), ==, 0);
    g_assert_cmpuint(case_index_names(f->index), ==, 1);
    make_file(f, "TWO");
    g_assert_cmpint(ask(f, "two"), ==, 1);
    g_assert_cmpint(case_index_collides(f->index, ic_root(f->ic), "two", "TWO"),
                    ==, 0);
    make_file(f, "two");
    g_assert_cmpint(ask(f, "two"), ==, 1);
    g_assert_cmpuint(case_index_names(f->index), ==, 3);
    remove_file(f, "TWO");
    g_assert_cmpint(ask(f, "two"), ==, 0);
    remove_file(f, "One");
    remove_file(f, "two");
    g_assert_cmpint(ask(f, "one"), ==, 0);
    g_assert_cmpuint(case_index_names(f->index), ==, 0);
}

/* More directories than the index keeps: the results are correct, and its size
 * stays bounded. */
static void test_many_folders(struct fixture *f, gconstpointer data)
{
    enum { FOLDERS = CASE_INDEX_MAX_DIRS + 50 };

    for (int i = 0; i < FOLDERS; i++) {
        g_autofree char *name = g_strdup_printf("d%d", i);
        g_autofree char *path = g_build_filename(f->share, name, NULL);
        g_autofree char *file = g_build_filename(name, "Name", NULL);

        OK(g_mkdir(path, 0755));
        make_file(f, file);
        g_assert_cmpint(ask_in(f, name, "nAME"), ==, 1);
    }
    g_assert_cmpuint(case_index_names(f->index), <=, CASE_INDEX_MAX_DIRS);
    g_assert_cmpint(ask_in(f, "d0", "name"), ==, 1);
    g_assert_cmpint(ask_in(f, "d0", "other"), ==, 0);
    remove_file(f, "d0/Name");
    g_assert_cmpint(ask_in(f, "d0", "name"), ==, 0);
}

/* Close the source of the index's events. */
static void close_queue(void)
{
    for (int fd = 3; fd < 1024; fd++) {
        g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
        char target[64] = "";

        if (readlink(path, target, sizeof(target) - 1) > 0 &&
            strcmp(target, "anon_inode:inotify") == 0)
            OK(close(fd));
    }
}

/* Nothing can be watched: each directory is read each time. */
static void test_unwatched(struct fixture *f, gconstpointer data)
{
    close_queue();
    make_file(f, "One");
    g_assert_cmpint(ask(f, "one"), ==, 1);
    make_file(f, "TWO");
    g_assert_cmpint(ask(f, "two"), ==, 1);
    remove_file(f, "TWO");
    g_assert_cmpint(ask(f, "two"), ==, 0);
    g_assert_cmpuint(case_index_names(f->index), ==, 0);
}

static void test_gone(struct fixture *f, gconstpointer data)
{
    g_autofree char *path = g_build_filename(f->share, "dir", NULL);
    struct ic_inode *inode;

    OK(g_mkdir(path, 0755));
    make_file(f, "dir/Name");
    OK(ic_lookup(f->ic, ic_root(f->ic), "dir", &inode, NULL));
    g_assert_cmpint(case_index_collides(f->index, inode, "name", NULL), ==, 1);
    g_assert_cmpint(ask(f, "DIR"), ==, 1);
    remove_file(f, "dir/Name");
    OK(g_rmdir(path));
    g_assert_cmpint(case_index_collides(f->index, inode, "name", NULL), <=, 0);
    g_assert_cmpint(ask(f, "DIR"), ==, 0);
    ic_inode_unref(inode);
    g_assert_cmpint(ask(f, "DIR"), ==, 0);
    g_assert_cmpuint(case_index_names(f->index), ==, 0);
}

/* A name is removed and given to another directory, and the kernel's events
 * arrive in a different order. */
static void test_replaced(struct fixture *f, gconstpointer data)
{
    g_autofree char *from = g_build_filename(f->share, "from", NULL);
    g_autofree char *to = g_build_filename(f->share, "to", NULL);
    g_autofree char *other = g_build_filename(f->share, "other", NULL);

    OK(g_mkdir(from, 0755));
    OK(g_mkdir(to, 0755));
    OK(g_mkdir(other, 0755));
    g_assert_cmpint(ask(f, "TO"), ==, 1);
    OK(rename(from, to));
    g_assert_cmpint(ask(f, "TO"), ==, 1);
    g_assert_cmpint(ask(f, "FROM"), ==, 0);
    OK(renameat2(AT_FDCWD, other, AT_FDCWD, to, RENAME_EXCHANGE));
    g_assert_cmpint(ask(f, "TO"), ==, 1);
    g_assert_cmpint(ask(f, "OTHER"), ==, 1);
    g_assert_cmpuint(case_index_names(f->index), ==, 2);
    OK(g_rmdir(to));
    OK(g_rmdir(other));
    g_assert_cmpint(ask(f, "TO"), ==, 0);
    g_assert_cmpint(ask(f, "OTHER"), ==, 0);
    g_assert_cmpuint(case_index_names(f->index), ==, 0);
}

#define ADD(name, function)                                                    \
    g_test_add("/p9-case-index/" name, struct fixture, NULL, set_up, function, \
               tear_down)

void add_p9_case_index_tests(void)
{
    ADD("follows", test_follows);
    ADD("many-folders", test_many_folders);
    ADD("unwatched", test_unwatched);
    ADD("gone", test_gone);
    ADD("replaced", test_replaced);
}
