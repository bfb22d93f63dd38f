/* SPDX-License-Identifier: Apache-2.0
 *
 * write_parents_tests - ic_write_file() that makes the folders of its path.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/engine/engine_guard.h"
#include "tests/engine/engine_tests.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

enum { RACES = 40, PATIENCE_S = 20 };

static gboolean write_to(struct guard *f, const char *path,
                         struct ic_step_info **ret_info, GError **error)
{
    struct ic_file_write request = {
        .path = path, .data = "new", .len = 3, .make_parents = true
    };

    return ic_write_file(f->ic, &request, ret_info, error);
}

static mode_t mode_of(struct guard *f, const char *name)
{
    g_autofree char *path = world_host_path(f->world, name);
    struct stat st;

    return lstat(path, &st) == 0 ? st.st_mode : 0;
}

static void expect_refusal(struct guard *f, const char *path, int code)
{
    g_autoptr(GError) error = NULL;
    int64_t last = ic_last_step_id(f->ic);

    g_assert_false(write_to(f, path, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, code);
    g_assert_cmpint(ic_last_step_id(f->ic), ==, last);
}

/* ---- cases --------------------------------------------------------------- */

static void one_step(struct guard *f, gconstpointer data)
{
    struct ic_rollback_result *redone;
    struct ic_step_info *info;

    g_assert_true(write_to(f, "dir/a/b/file", &info, NULL));
    g_assert_cmpuint(info->changes->len, ==, 3);
    ic_step_info_free(info);
    g_assert_cmpuint(mode_of(f, "dir/a"), ==, S_IFDIR | 0755);
    g_assert_cmpuint(mode_of(f, "dir/a/b"), ==, S_IFDIR | 0755);
    g_assert_cmpuint(mode_of(f, "dir/a/b/file"), ==, S_IFREG | 0644);
    g_assert_true(write_to(f, "dir/a/b/file", NULL, NULL));
    g_assert_true(ic_rollback(f->ic, 2, false, NULL, NULL));
    g_assert_cmpuint(mode_of(f, "dir/a"), ==, 0);
    g_assert_cmpuint(mode_of(f, "dir/sub"), !=, 0);
    g_assert_true(ic_redo(f->ic, 1, false, &redone, NULL));
    ic_rollback_result_free(redone);
    g_assert_cmpuint(mode_of(f, "dir/a/b/file"), ==, S_IFREG | 0644);
}

/* Without the wish, a missing folder is an error as before. */
static void on_demand(struct guard *f, gconstpointer data)
{
    struct ic_file_write request = { .path = "a/f", .data = "x", .len = 1 };
    g_autoptr(GError) error = NULL;

    g_assert_false(ic_write_file(f->ic, &request, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_NOT_FOUND);
    g_assert_cmpuint(mode_of(f, "a"), ==, 0);
}

static void refusals(struct guard *f, gconstpointer data)
{
    g_autofree char *link = world_host_path(f->world, "link");
    g_autofree char *loop = world_host_path(f->world, "dir/dangling");
    g_autofree char *many = g_strnfill(PATH_MAX, 'a');

    OK(symlink("..", link));
    OK(symlink("nowhere", loop));
    for (size_t i = 1; i < PATH_MAX; i += 2)
        many[i] = '/';
    many[PATH_MAX - 1] = 'a';
    expect_refusal(f, "link/new/file", ERROR_PATH_OUTSIDE_ROOT);
    expect_refusal(f, "dir/dangling/new/file", ERROR_PATH_OUTSIDE_ROOT);
    expect_refusal(f, "new/../../file", ERROR_PATH_OUTSIDE_ROOT);
    expect_refusal(f, "/new/file", ERROR_PATH_OUTSIDE_ROOT);
    expect_refusal(f, "file/new/file", ERROR_NOT_FOUND);
    expect_refusal(f, "new//file", ERROR_INVALID_FIELD);
    expect_refusal(f, "new/", ERROR_INVALID_FIELD);
    expect_refusal(f, many, ERROR_INVALID_FIELD);
    g_assert_cmpuint(mode_of(f, "new"), ==, 0);
    g_assert_cmpuint(mode_of(f, "a"), ==, 0);
}

/* A name that is too long is found out only when the folders above exist. */
static void rolled_back(struct guard *f, gconstpointer data)
{
    g_autofree char *name = g_strnfill(256, 'n');
    g_autofree char *path = g_strconcat("new/sub/", name, NULL);
    g_autoptr(GError) error = NULL;

    g_assert_false(write_to(f, path, NULL, &error));
    g_assert_nonnull(error);
    g_assert_cmpuint(mode_of(f, "new"), ==, 0);
}

/* ---- another process ----------------------------------------------------- */

struct rival {
    struct guard *f;
    atomic_bool stop;
};

/* Put a folder, nothing, and a symlink out of the share there in turn. */
static void *swap(void *opaque)
{
    struct rival *rival = opaque;
    g_autofree char *way = world_host_path(rival->f->world, "way");
    g_autofree char *away = g_strconcat(way, ".away", NULL);
    g_autofree char *outside = world_host_path(rival->f->world, "../outside");

    for (unsigned i = 0; !atomic_load(&rival->stop); i++) {
        g_autofree char *to = g_strdup_printf("%s.%u", away, i);

        if (rename(way, to) < 0)
            unlink(way);
        if (i % 3 == 0)
            (void)!symlink(outside, way);
        else if (i % 3 == 1)
            (void)!mkdir(way, 0755);
        g_usleep(i % 7 * 50);
    }
    return NULL;
}

/* Whatever another process puts into the way, nothing is written outside, and
 * a refusal leaves no step. */
static void raced(struct guard *f, gconstpointer data)
{
    g_autofree char *outside = world_host_path(f->world, "../outside");
    struct rival rival = { .f = f };
    gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
    unsigned written = 0, refused = 0;
    pthread_t thread;

    OK(mkdir(outside, 0700));
    OK(pthread_create(&thread, NULL, swap, &rival));
    while ((written < RACES || refused < RACES) &&
           g_get_monotonic_time() < end) {
        g_autoptr(GError) error = NULL;
        int64_t last = ic_last_step_id(f->ic);

        if (write_to(f, "way/to/file", NULL, &error)) {
            written++;
        } else {
            g_assert_nonnull(error);
            g_assert_cmpint(error->code, !=, ERROR_INTERNAL);
            refused++;
        }
        g_assert_cmpint(ic_last_step_id(f->ic), <=, last + 1);
    }
    atomic_store(&rival.stop, true);
    pthread_join(thread, NULL);
    g_test_message("%u written, %u refused", written, refused);
    OK(rmdir(outside)); /* it is empty */
}

static const struct guard_case cases[] = {
    { "/write-parents/are-one-step-with-the-file", one_step },
    { "/write-parents/are-made-on-demand-only", on_demand },
    { "/write-parents/never-lead-out-of-the-folder", refusals },
    { "/write-parents/vanish-if-the-write-fails", rolled_back },
    { "/write-parents/are-safe-from-other-processes", raced },
};

void add_write_parents_tests(void)
{
    guard_add_cases(cases, G_N_ELEMENTS(cases));
}
