/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_deep - cases of engine_cases.h: very deep trees.
 *
 * They are deeper than any path and, with -m slow, than any stack, or any
 * number of fds of which each level needs one.
 */
#include "tests/lib/engine_cases.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* A path to the bottom is longer than PATH_MAX in the quick run, too: the name
 * is long, because the work for a level grows with depth. -m slow for more
 * levels. */
enum { QUICK_LEVELS = 250, LEVELS = 10000, SPARE_FDS = 2000 };

#define DEEP "one-level-of-a-deep-tree"

_Static_assert(QUICK_LEVELS * sizeof(DEEP) > PATH_MAX, "the path must not fit");

/* The engine holds an fd for each inode that the client holds: those that this
 * test holds while it is at the bottom. */
static unsigned levels(void)
{
    unsigned wanted = g_test_slow() ? LEVELS : QUICK_LEVELS;
    struct rlimit limit;

    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    limit.rlim_cur = limit.rlim_max;
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
    if (limit.rlim_cur < wanted + SPARE_FDS)
        return (unsigned)limit.rlim_cur / 2;
    return wanted;
}

/* Make deep/deep/deep... on the host, with a file at the bottom and one
 * half-way. */
static void fill_deep(struct world *w)
{
    unsigned count = levels();
    int at = open(w->share, O_PATH | O_DIRECTORY | O_CLOEXEC);

    engine_fill_small(w);
    for (unsigned i = 0; i < count; i++) {
        int next;

        g_assert_cmpint(mkdirat(at, DEEP, 0755), ==, 0);
        next = openat(at, DEEP, O_PATH | O_DIRECTORY | O_CLOEXEC);
        g_assert_cmpint(next, >=, 0);
        if (i == count / 2 || i == count - 1)
            close(openat(next, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0640));
        close(at);
        at = next;
    }
    close(at);
}

static void go_down(struct world *w, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        DO(chdir, DEEP);
}

static void make_deep(struct world *w)
{
    for (unsigned i = levels(); i > 0; i--) {
        DO(mkdir, DEEP, 0755);
        DO(chdir, DEEP);
    }
    CREATE("file", "at the bottom");
    DO(chdir, NULL);
}

static void deep_create(struct world *w)
{
    make_deep(w);
}

/* The report names only what fits in a path, but counts everything. */
static void check_create(struct world *w, json_t *report)
{
    json_int_t made = json_integer_value(
        json_object_get(json_object_get(report, "counts"), "created"));

    g_assert_cmpint(made, ==, levels() + 1);
    g_assert_true(json_is_true(json_object_get(report, "truncated")));
}

static void deep_remove(struct world *w)
{
    unsigned count = levels();

    go_down(w, count);
    DO(unlink, "file");
    for (unsigned i = count; i > 0; i--) {
        if (i == count / 2 + 1)
            DO(unlink, "file");
        DO(chdir, "..");
        DO(rmdir, DEEP);
    }
    DO(chdir, NULL);
}

static void check_remove(struct world *w, json_t *report)
{
    json_int_t gone = json_integer_value(
        json_object_get(json_object_get(report, "counts"), "deleted"));

    g_assert_cmpint(gone, ==, levels() + 2);
    g_assert_true(json_is_true(json_object_get(report, "truncated")));
}

static void deep_rename(struct world *w)
{
    DO(rename, DEEP, "src/moved", 0);
    DO(rename, "src/moved/" DEEP, "half", 0);
}

static void check_rename(struct world *w, json_t *report)
{
    world_assert_affected(report, DEEP, DEEP "/" DEEP, "half", "src/moved",
                          NULL);
}

/* An inode that changes at the bottom has a home as deep. */
static void deep_change(struct world *w)
{
    unsigned count = levels();

    go_down(w, count / 2);
    DO(rename, DEEP, "e", 0);
    DO(chdir, "e");
    go_down(w, count - count / 2 - 1);
    OK(engine_put(w, "file", O_TRUNC, "changed"));
    CREATE("new", "another");
    DO(mkdir, "dir", 0700);
    DO(chmod, "file", 0600);
    DO(rename, "file", "dir/file", 0);
    DO(chdir, NULL);
    DO(rename, DEEP, "src/moved", 0);
}

/* A deep tree becomes the bottom of a new one, which then moves into the first,
 * half-way down. */
static void deep_into_deep(struct world *w)
{
    unsigned count = levels() / 3;

    for (unsigned i = 0; i < count; i++) {
        DO(mkdir, "n", 0700);
        DO(chdir, "n");
    }
    DO(chdir, NULL);
    for (unsigned i = 0; i < count; i++) {
        DO(mkdir, "m", 0755);
        DO(rename, DEEP, "m/" DEEP, 0);
        DO(rename, "m", DEEP, 0);
    }
    go_down(w, count / 2);
    DO(mkdir, "side", 0755);
    DO(chdir, NULL);
    DO(rename, "n", "src/n", 0);
}

const struct undo_case engine_deep_cases[] = {
    { "deep/create", engine_fill_small, deep_create, check_create },
    { "deep/remove", fill_deep, deep_remove, check_remove },
    { "deep/rename", fill_deep, deep_rename, check_rename },
    { "deep/change", fill_deep, deep_change },
    { "deep/into-deep", fill_deep, deep_into_deep },
};

const size_t engine_deep_cases_count = G_N_ELEMENTS(engine_deep_cases);
