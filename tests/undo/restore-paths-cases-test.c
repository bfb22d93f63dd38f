/* SPDX-License-Identifier: Apache-2.0
 *
 * restore-paths-cases-test - a restore of all paths equals an undo.
 *
 * Whatever a step does, the folder is what it was before the step.
 *
 * The restore is a step that can be undone and redone. The cases are those of
 * engine-test, over each backend.
 */
#include <errno.h>
#include <sys/stat.h>

#include "tests/lib/engine_cases.h"
#include "tests/lib/oracle.h"
#include "tests/lib/world.h"

struct bound_case {
    const struct undo_case *test;
    const struct world_backend *backend;
};

static json_t *restore_all(struct world *w, bool dry)
{
    return world_request(
        w, "restore", json_pack("{s:[s], s:b}", "paths", ".", "dry_run", dry));
}

/* A step that changed only times may leave nothing to restore. */
static void check(struct world *w, GPtrArray *before, GPtrArray *after)
{
    json_t *answer = restore_all(w, true);

    g_assert_cmpuint(json_array_size(json_object_get(answer, "steps")), ==, 1);
    json_decref(answer);
    world_assert_equal(w, after);
    answer = restore_all(w, false);
    g_assert_cmpuint(json_array_size(json_object_get(answer, "steps")), ==, 1);
    json_decref(answer);
    world_assert_equal(w, before);
    g_assert_cmpuint(world_history_count(w), ==, 2);
    for (int i = 0; i < 2; i++) {
        world_undo_to(w, 1, after);
        world_redo_to(w, 1, before);
    }
    world_undo_to(w, 2, before);
    g_assert_cmpuint(world_history_count(w), ==, 0);
}

static void run_case(gconstpointer data)
{
    const struct bound_case *bound = data;
    world_auto struct world *w = world_new(bound->backend);
    g_autoptr(GPtrArray) before = NULL, after = NULL;

    bound->test->fill(w);
    if (world_start(w)) {
        before = world_snapshot(w);
        world_step(w);
        bound->test->change(w);
        world_end_step(w);
        after = world_snapshot(w);
        check(w, before, after);
    }
}

/* Two tests may share one, and GLib loses track of them at exit. */
static GPtrArray *bound_cases;

static void add_cases(const struct world_backend *backend,
                      const struct undo_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct bound_case *bound = g_new(struct bound_case, 1);
        g_autofree char *path = g_strdup_printf("/%s/%s", backend->name,
                                                cases[i].id);

        g_ptr_array_add(bound_cases, bound);
        *bound = (struct bound_case){ &cases[i], backend };
        g_test_add_data_func(path, bound, run_case);
    }
}

static void add_backend(const struct world_backend *backend)
{
    add_cases(backend, engine_cases, engine_cases_count);
    add_cases(backend, engine_odd_cases, engine_odd_cases_count);
    add_cases(backend, engine_links_cases, engine_links_cases_count);
    add_cases(backend, engine_many_cases, engine_many_cases_count);
}

int main(int argc, char **argv)
{
    int result;

    umask(022);
    g_test_init(&argc, &argv, NULL);
    bound_cases = g_ptr_array_new_with_free_func(g_free);
    add_backend(&world_folder);
    add_backend(&world_folder_copy);
    add_backend(&world_mount);
    result = g_test_run();
    g_ptr_array_unref(bound_cases);
    return result;
}
