/* SPDX-License-Identifier: Apache-2.0
 *
 * limits-test - which steps are evicted when the undo log exceeds a limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/lib/limits_common.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

static const struct world_backend *const backends[] = {
    &world_folder,
    &world_folder_copy,
    &world_mount,
};

static void expect_evicted(struct world *w, const char *reason, int64_t first,
                           int64_t last)
{
    while (first <= last) {
        json_t *event = limits_take_warning(w, "steps_evicted");
        json_t *ids = json_object_get(event, "step_ids");

        g_assert_nonnull(event);
        g_assert_cmpstr(json_string_value(json_object_get(event, "reason")), ==,
                        reason);
        for (size_t i = 0; i < json_array_size(ids); i++)
            g_assert_cmpint(json_integer_value(json_array_get(ids, i)), ==,
                            first++);
        json_decref(event);
    }
    g_assert_null(limits_take_warning(w, "steps_evicted"));
}

/* ---- eviction ------------------------------------------------------------ */

/* Evicted steps are gone from the log's directories, too. */
static void expect_steps(struct world *w, int64_t first, int64_t last)
{
    g_autofree char *path = g_build_filename(w->undo_dir, "steps", NULL);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    int64_t count = 0;

    while ((name = g_dir_read_name(dir))) {
        int64_t id = g_ascii_strtoll(name, NULL, 10);

        g_assert_cmpint(id, >=, first);
        g_assert_cmpint(id, <=, last);
        count++;
    }
    g_assert_cmpint(count, ==, last - first + 1);
    g_assert_cmpuint(world_history_count(w), ==, (guint)count);
}

static void ui18(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);
    g_autoptr(GPtrArray) before = NULL;

    if (!w)
        return;
    limits_configure(w, "max_step_count", 3);
    limits_small_step(w, "1");
    limits_small_step(w, "2");
    before = world_snapshot(w);
    for (int i = 3; i <= 5; i++)
        limits_small_step(w, limits_file_name((unsigned)i));
    expect_evicted(w, "max_step_count", 1, 2);
    expect_steps(w, 3, 5);
    limits_rollback_refused(w, 4, true, ERROR_NOTHING_TO_UNDO);
    world_undo_to(w, 3, before);
    /* Their ids are not reused. */
    w->backend->stop(w);
    world_start(w);
    world_refused(w, "step.open", json_pack("{s:i}", "step_id", 5),
                  ERROR_INVALID_FIELD);
}

static void ui18_configured(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);

    if (!w)
        return;
    for (unsigned i = 1; i <= 5; i++)
        limits_small_step(w, limits_file_name(i));
    limits_configure(w, "max_step_count", 2);
    expect_evicted(w, "max_step_count", 1, 3);
    expect_steps(w, 4, 5);
    world_refused(w, "configure", json_pack("{s:i}", "max_step_count", -2),
                  ERROR_INVALID_FIELD);
    limits_configure(w, "max_step_count", -1);
    for (unsigned i = 6; i <= 8; i++)
        limits_small_step(w, limits_file_name(i));
    expect_steps(w, 4, 8);
}

static void ui19(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);
    g_autoptr(GPtrArray) before = NULL;

    if (!w)
        return;
    limits_configure(w, "max_log_size_bytes", 3 * FILE_SIZE);
    for (unsigned i = 1; i <= 3; i++)
        limits_overwrite_step(w, i, 10 + i);
    before = world_snapshot(w);
    limits_overwrite_step(w, 0, 20);
    limits_overwrite_step(w, 1, 21);
    expect_evicted(w, "max_log_size", 1, 3);
    expect_steps(w, 4, 5);
    world_undo_to(w, 2, before);
}

/* A step that alone exceeds the log's limit does not evict all others and then
 * itself: it exceeds its own limit. */
static void ui19_one_step(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);
    int64_t id;

    if (!w)
        return;
    limits_small_step(w, "1");
    limits_configure(w, "max_log_size_bytes", 2 * FILE_SIZE);
    id = world_step(w);
    for (unsigned i = 0; i < 4; i++)
        limits_overwrite(w, i, 30 + i);
    world_end_step(w);
    limits_expect_unprotected(w, id);
    expect_steps(w, 1, 2);
}

/* What a step removes is moved, not copied: it does not count. */
static void moved_is_free(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);
    g_autoptr(GPtrArray) before = NULL;
    json_t *report;
    int64_t id;

    if (!w)
        return;
    before = world_snapshot(w);
    limits_configure(w, "max_single_step_size_bytes", FILE_SIZE);
    limits_configure(w, "max_log_size_bytes", FILE_SIZE);
    id = world_step(w);
    for (unsigned i = 0; i < FILES; i++)
        OK(w->backend->unlink(w, limits_file_name(i)));
    report = world_close_step(w);
    g_assert_true(json_is_true(json_object_get(report, "undoable")));
    json_decref(report);
    w->backend->stop(w);
    world_start(w); /* the limits are the defaults again */
    limits_configure(w, "max_log_size_bytes", FILE_SIZE);
    expect_steps(w, id, id);
    world_undo_to(w, 1, before);
}

/* Killed between the rename and the removal: the next start continues. */
static void killed_evicting(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);
    g_autofree char *step = NULL, *trash = NULL, *left = NULL;

    if (!w)
        return;
    step = g_build_filename(w->undo_dir, "steps/1", NULL);
    trash = g_build_filename(w->undo_dir, "wal/trash", NULL);
    left = g_build_filename(trash, "7", NULL);
    limits_overwrite_step(w, 0, 1);
    limits_small_step(w, "2");
    w->backend->stop(w);
    OK(g_mkdir_with_parents(trash, 0700));
    OK(rename(step, left));
    world_start(w);
    g_assert_false(g_file_test(left, G_FILE_TEST_EXISTS));
    expect_steps(w, 2, 2);
    json_decref(world_undo(w, 1));
}

/* More names than are removed while other threads wait. */
static void large_trash(gconstpointer data)
{
    world_auto struct world *w = world_new(data);
    int64_t id;

    world_host_dir(w, "many");
    for (int i = 0; i < 1000; i++) {
        g_autofree char *name = g_strdup_printf("many/%d", i);

        world_host_file(w, name, "x");
    }
    world_host_file(w, "other", "other");
    if (world_start(w)) {
        limits_configure(w, "max_step_count", 1);
        id = world_step(w);
        for (int i = 0; i < 1000; i++) {
            g_autofree char *name = g_strdup_printf("many/%d", i);

            OK(w->backend->unlink(w, name));
        }
        world_end_step(w);
        limits_small_step(w, "evicts");
        expect_evicted(w, "max_step_count", id, id);
        w->backend->stop(w);
        world_start(w); /* the rest is removed now, or soon */
        expect_steps(w, id + 1, id + 1);
        json_decref(world_undo(w, 1));
    }
}

static const struct {
    const char *name;
    void (*run)(gconstpointer backend);
} cases[] = {
    { "UI-18/step-count", ui18 },
    { "UI-18/configured", ui18_configured },
    { "UI-19/log-size", ui19 },
    { "UI-19/one-step", ui19_one_step },
    { "eviction-continues-after-a-kill", killed_evicting },
    { "eviction-of-many-names", large_trash },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(backends); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(cases); j++) {
            g_autofree char *path = g_strdup_printf(
                "/limits/%s/%s", backends[i]->name, cases[j].name);

            g_test_add_data_func(path, backends[i], cases[j].run);
        }
        if (!backends[i]->log_elsewhere) {
            g_autofree char *path = g_strdup_printf("/limits/%s/moved-is-free",
                                                    backends[i]->name);

            g_test_add_data_func(path, backends[i], moved_is_free);
        }
    }
    return g_test_run();
}
