/* SPDX-License-Identifier: Apache-2.0
 *
 * engine-test - undo of steps, by the test plan's ids.
 *
 * Runs over every backend (world.h), or the one that STEPBACK_WORLD names. Each
 * case changes a tree in a step, undoes the step, and has the oracle compare
 * the whole tree.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/engine_cases.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

struct bound_case {
    const struct undo_case *test;
    const struct world_backend *backend;
};

/* Redo, and undo that; twice, since each makes what the next one uses. */
static void check_redo(struct world *w, GPtrArray *before, GPtrArray *after)
{
    for (int i = 0; i < 2; i++) {
        world_redo_to(w, 1, after);
        g_assert_cmpuint(world_history_count(w), ==, 1);
        world_undo_to(w, 1, before);
    }
}

static void run_undo_case(gconstpointer data)
{
    const struct bound_case *bound = data;
    world_auto struct world *w = world_new(bound->backend);
    g_autoptr(GPtrArray) before = NULL, after = NULL;
    json_t *report;

    bound->test->fill(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        bound->test->change(w);
        report = world_close_step(w);
        world_assert_changed(w, before);
        g_assert_true(json_is_true(json_object_get(report, "undoable")));
        if (bound->test->check)
            bound->test->check(w, report);
        json_decref(report);
        g_assert_cmpuint(world_history_count(w), ==, 1);
        after = world_snapshot(w);
        world_undo_to(w, 1, before);
        g_assert_cmpuint(world_history_count(w), ==, 0);
        check_redo(w, before, after);
    }
}

/* The same changes, but the process is killed in the step, and the next start
 * rolls it back (CR-01). */
static void run_crash_case(gconstpointer data)
{
    const struct bound_case *bound = data;
    world_auto struct world *w = world_new(bound->backend);
    g_autoptr(GPtrArray) before = NULL;

    bound->test->fill(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        bound->test->change(w);
        bound->backend->kill(w);
        world_assert_changed(w, before);
        g_assert_true(world_start(w));
        g_assert_nonnull(w->recovery);
        world_assert_equal(w, before);
        g_assert_cmpuint(world_history_count(w), ==, 0);
    }
}

/* ---- several steps ------------------------------------------------------- */

static void ui16(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autoptr(GPtrArray) zero = NULL, one = NULL, two = NULL;

    engine_fill_links(w);
    if (!world_start(w))
        return;
    zero = world_snapshot(w);
    world_step(w);
    WRITE("small.txt", "after one");
    DO(unlink, "run.sh");
    DO(rename, "src", "lib", 0);
    world_end_step(w);
    one = world_snapshot(w);
    world_step(w);
    WRITE("small.txt", "after two");
    CREATE("run.sh", "another");
    DO(unlink, "third");
    DO(unlink, "lib/main.c");
    DO(rename, "lib", "src", 0);
    world_end_step(w);
    two = world_snapshot(w);
    world_step(w);
    engine_remove_tree(w, "");
    world_end_step(w);
    g_assert_cmpuint(world_history_count(w), ==, 3);

    world_undo_to(w, 1, two);
    world_undo_to(w, 1, one);
    world_undo_to(w, 1, zero);
}

/* Undo several steps at once, with a restart of the process in between. */
static void ui16_restart(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autoptr(GPtrArray) zero = NULL;

    engine_fill_links(w);
    if (!world_start(w))
        return;
    zero = world_snapshot(w);
    world_step(w);
    engine_rename_into_new_dir(w);
    world_end_step(w);
    world_step(w);
    DO(unlink, "third");
    world_end_step(w);
    w->backend->stop(w);
    g_assert_true(world_start(w));
    g_assert_null(w->recovery);
    world_step(w);
    engine_remove_tree(w, "");
    world_end_step(w);
    world_undo_to(w, 3, zero);
}

static void ui20(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;
    json_t *answer, *step;

    engine_fill_small(w);
    if (!world_start(w))
        return;
    before = world_snapshot(w);
    WRITE("small.txt", "outside of any step");
    DO(unlink, "run.sh");
    answer = world_undo(w, 1);
    step = json_array_get(json_object_get(answer, "steps"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(step, "type")), ==,
                    "ambient");
    g_assert_cmpint(json_integer_value(json_object_get(step, "step_id")), <, 0);
    json_decref(answer);
    world_assert_equal(w, before);
}

static void ui21(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;

    w->ambient_ms = 200; /* the daemon of a mount keeps the default, 5 s */
    engine_fill_small(w);
    if (!world_start(w))
        return;
    before = world_snapshot(w);
    WRITE("small.txt", "first");
    for (int i = 0; i < 3000 && world_history_count(w) < 1; i++)
        g_usleep(10000);
    g_assert_cmpuint(world_history_count(w), ==, 1);
    WRITE("small.txt", "second, of the same ambient step");
    world_step(w); /* opening a step closes the ambient one */
    g_assert_cmpuint(world_history_count(w), ==, 1);
    world_end_step(w);
    world_undo_to(w, 1, before);
}

static void ui22(gconstpointer data)
{
    world_auto struct world *a = world_new(data), *b = world_new(data);
    g_autoptr(GPtrArray) before = NULL, other = NULL;
    struct world *w = a;

    engine_fill_small(a);
    engine_fill_small(b);
    if (world_start(a) && world_start(b)) {
        before = world_snapshot(a);
        world_step(a);
        WRITE("small.txt", "in a");
        world_end_step(a);
        world_step(b);
        w = b;
        WRITE("small.txt", "in b");
        world_end_step(b);
        other = world_snapshot(b);
        world_undo_to(a, 1, before);
        world_assert_equal(b, other);
    }
}

/* Write through a handle of a file that an earlier step removed. */
static void old_handle(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;
    void *handle;

    engine_fill_small(w);
    if (!world_start(w))
        return;
    before = world_snapshot(w);
    handle = w->backend->open(w, "small.txt", O_RDWR);
    world_step(w);
    DO(unlink, "small.txt");
    world_end_step(w);
    world_step(w);
    OK(w->backend->write(w, handle, "into the void", 13, 0));
    world_end_step(w);
    w->backend->close(w, handle);
    json_decref(world_undo(w, world_history_count(w)));
    world_assert_equal(w, before);
}

static void errors(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    int64_t id;

    engine_fill_small(w);
    if (!world_start(w))
        return;
    world_refused(w, "rollback", NULL, 3000);
    id = world_step(w);
    world_refused(w, "rollback", NULL, 3006);
    world_refused(w, "step.open", json_pack("{s:i}", "step_id", 99), 3006);
    world_end_step(w);
    world_refused(w, "step.open", json_pack("{s:I}", "step_id", (json_int_t)id),
                  1004);
    world_refused(w, "step.open", NULL, 1003);
    world_refused(w, "make.coffee", NULL, 1002);
}

/* ---- crashes ------------------------------------------------------------- */

static bool wal_exists(struct world *w)
{
    g_autofree char *path = g_build_filename(w->undo_dir, "wal", "in_progress",
                                             NULL);

    return access(path, F_OK) == 0;
}

static void cr05(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autofree char *step = NULL;

    engine_fill_small(w);
    if (world_start(w)) {
        world_step(w);
        WRITE("small.txt", "x");
        world_end_step(w);
        w->backend->stop(w);
        g_assert_false(wal_exists(w));
        step = g_build_filename(w->undo_dir, "steps", "1", NULL);
        g_assert_cmpint(access(step, F_OK), ==, 0);
    }
}

static void cr06(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;

    engine_fill_links(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        engine_hardlink_remove_one(w);
        engine_rename_into_new_dir(w);
        w->backend->kill(w);
        g_assert_true(world_start(w));
        g_assert_nonnull(w->recovery);
        world_assert_equal(w, before);
        w->backend->stop(w);
        g_assert_true(world_start(w));
        g_assert_null(w->recovery);
        world_assert_equal(w, before);
    }
}

static void cr07(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    g_autoptr(GPtrArray) before = NULL;

    engine_fill_small(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        g_assert_true(wal_exists(w));
        w->backend->kill(w);
        g_assert_true(world_start(w));
        g_assert_false(wal_exists(w));
        world_assert_equal(w, before);
    }
}

static void empty_step(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    json_t *report;

    engine_fill_small(w);
    if (world_start(w)) {
        world_step(w);
        report = world_close_step(w);
        g_assert_true(json_is_false(json_object_get(report, "undoable")));
        json_decref(report);
        g_assert_cmpuint(world_history_count(w), ==, 0);
        g_assert_false(wal_exists(w));
        world_step(w); /* its id is not reused */
        world_end_step(w);
    }
}

/* A step in which every change failed is not kept. */
static void failed_attempts(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    json_t *report;

    engine_fill_small(w);
    if (world_start(w)) {
        world_step(w);
        g_assert_cmpint(w->backend->rename(w, "src", "src/components/x", 0), ==,
                        -EINVAL);
        DO(chmod, "run.sh", 0755); /* its mode already */
        report = world_close_step(w);
        g_assert_true(json_is_false(json_object_get(report, "undoable")));
        json_decref(report);
        g_assert_cmpuint(world_history_count(w), ==, 0);
        g_assert_false(wal_exists(w));
    }
}

static const struct {
    const char *id;
    void (*run)(gconstpointer backend);
} long_cases[] = {
    { "UI-16/multi-step", ui16 },
    { "UI-16/restart", ui16_restart },
    { "UI-20/ambient", ui20 },
    { "UI-21/ambient-timeout", ui21 },
    { "UI-22/multi-dir", ui22 },
    { "old-handle", old_handle },
    { "errors", errors },
    { "CR-05/clean-shutdown", cr05 },
    { "CR-06/double-recovery", cr06 },
    { "CR-07/empty-step", cr07 },
    { "empty-step", empty_step },
    { "failed-attempts", failed_attempts },
};

static void add_case(const char *backend, const char *group, const char *id,
                     gconstpointer data, GTestDataFunc run)
{
    g_autofree char *path = g_strdup_printf("/%s%s/%s", backend, group, id);

    g_test_add_data_func(path, data, run);
}

/* Two tests may share one, and GLib loses track of them at exit. */
static GPtrArray *bound_cases;

static void add_cases(const struct world_backend *backend,
                      const struct undo_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct bound_case *bound = g_new(struct bound_case, 1);

        g_ptr_array_add(bound_cases, bound);
        *bound = (struct bound_case){ &cases[i], backend };
        add_case(backend->name, "", cases[i].id, bound, run_undo_case);
        /* The mount covers recovery: neither another protocol nor the caches
         * make a difference to it. */
        if (backend != &world_9p && backend != &world_local)
            add_case(backend->name, "/CR-01", cases[i].id, bound,
                     run_crash_case);
    }
}

static void add_backend(const struct world_backend *backend)
{
    add_cases(backend, engine_cases, engine_cases_count);
    add_cases(backend, engine_odd_cases, engine_odd_cases_count);
    add_cases(backend, engine_deep_cases, engine_deep_cases_count);
    add_cases(backend, engine_links_cases, engine_links_cases_count);
    add_cases(backend, engine_many_cases, engine_many_cases_count);
    for (size_t i = 0; i < G_N_ELEMENTS(long_cases); i++)
        add_case(backend->name, "", long_cases[i].id, backend,
                 long_cases[i].run);
}

int main(int argc, char **argv)
{
    const struct world_backend *const backends[] = {
        &world_folder, &world_folder_copy, &world_mount,
        &world_local,  &world_9p,
    };
    const char *only = g_getenv("STEPBACK_WORLD");
    int result;

    umask(022);
    g_test_init(&argc, &argv, NULL);
    bound_cases = g_ptr_array_new_with_free_func(g_free);
    for (size_t i = 0; i < G_N_ELEMENTS(backends); i++) {
        if (!only || strcmp(only, backends[i]->name) == 0)
            add_backend(backends[i]);
    }
    result = g_test_run();
    g_ptr_array_unref(bound_cases);
    return result;
}
