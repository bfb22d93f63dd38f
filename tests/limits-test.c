/* SPDX-License-Identifier: Apache-2.0
 *
 * limits-test - how much the undo log holds, and what happens beyond that.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/world.h"

enum { FILES = 8, FILE_SIZE = 64 << 10 };

#define OK(call) g_assert_cmpint((call), ==, 0)

static const struct world_backend *const backends[] = {
    &world_folder,
    &world_folder_copy,
    &world_mount,
};

static void configure(struct world *w, const char *name, int64_t value)
{
    json_decref(world_request(w, "configure",
                              json_pack("{s:I}", name, (json_int_t)value)));
}

/* Bytes that cannot be compressed, but are the same in each run. */
static void fill(char *data, size_t len, guint32 seed)
{
    GRand *rand = g_rand_new_with_seed(seed);

    for (size_t i = 0; i < len; i++)
        data[i] = (char)g_rand_int_range(rand, 0, 256);
    g_rand_free(rand);
}

static const char *file_name(unsigned i)
{
    static char name[32];

    snprintf(name, sizeof(name), "file%u", i);
    return name;
}

static void host_files(struct world *w)
{
    g_autofree char *data = g_malloc(FILE_SIZE);

    for (unsigned i = 0; i < FILES; i++) {
        g_autofree char *path = world_host_path(w, file_name(i));

        fill(data, FILE_SIZE, i);
        g_assert_true(g_file_set_contents(path, data, FILE_SIZE, NULL));
    }
    world_host_file(w, "other", "other");
    world_host_file(w, "moved", "moved");
    world_host_file(w, "replaced", "replaced");
}

static struct world *start_world(gconstpointer backend)
{
    struct world *w = world_new(backend);

    host_files(w);
    if (world_start(w))
        return w;
    world_free(w);
    return NULL;
}

/* Overwrite one file: its bytes are copied into the log. */
static void overwrite(struct world *w, unsigned i, guint32 seed)
{
    g_autofree char *data = g_malloc(FILE_SIZE);

    fill(data, FILE_SIZE, seed);
    OK(w->backend->put(w, file_name(i), 0, data, FILE_SIZE, 0));
}

static int64_t overwrite_step(struct world *w, unsigned i, guint32 seed)
{
    int64_t id = world_step(w);

    overwrite(w, i, seed);
    json_decref(world_close_step(w, id));
    return id;
}

static void small_step(struct world *w, const char *text)
{
    int64_t id = world_step(w);

    OK(w->backend->put(w, "other", O_TRUNC, text, strlen(text), 0));
    json_decref(world_close_step(w, id));
}

/* ---- event.warning ------------------------------------------------------- */

/* The next warning with this code; new. */
static json_t *take_warning(struct world *w, const char *code)
{
    json_t *event;

    json_decref(world_request(w, "status", NULL)); /* events come before */
    while ((event = w->backend->event(w, "event.warning"))) {
        if (g_strcmp0(json_string_value(json_object_get(event, "code")),
                      code) == 0)
            return event;
        json_decref(event);
    }
    return NULL;
}

static void expect_evicted(struct world *w, const char *reason, int64_t first,
                           int64_t last)
{
    while (first <= last) {
        json_t *event = take_warning(w, "steps_evicted");
        json_t *ids = json_object_get(event, "step_ids");

        g_assert_nonnull(event);
        g_assert_cmpstr(json_string_value(json_object_get(event, "reason")), ==,
                        reason);
        for (size_t i = 0; i < json_array_size(ids); i++)
            g_assert_cmpint(json_integer_value(json_array_get(ids, i)), ==,
                            first++);
        json_decref(event);
    }
    g_assert_null(take_warning(w, "steps_evicted"));
}

static void expect_unprotected(struct world *w, int64_t id)
{
    json_t *event = take_warning(w, "step_unprotected");

    g_assert_nonnull(event);
    g_assert_cmpint(json_integer_value(json_object_get(event, "step_id")), ==,
                    id);
    json_decref(event);
    g_assert_null(take_warning(w, "step_unprotected"));
}

/* ---- unprotected steps --------------------------------------------------- */

/* Everything that a step can do, when it is unprotected already. */
static void do_everything(struct world *w)
{
    const struct world_backend *b = w->backend;

    OK(b->mkdir(w, "dir", 0755));
    OK(b->put(w, "dir/new", O_CREAT, "new", 3, 0));
    OK(b->symlink(w, "target", "dir/symlink"));
    OK(b->link(w, "file0", "dir/link"));
    OK(b->rename(w, "moved", "dir/moved", 0));
    OK(b->rename(w, "dir/new", "replaced", 0));
    OK(b->unlink(w, "file1"));
    OK(b->chmod(w, "file2", 0600));
    OK(b->truncate(w, "file3", 5));
    OK(b->mkdir(w, "gone", 0755));
    OK(b->rmdir(w, "gone"));
}

/* A step that is over its limit; it is still open. */
static int64_t go_over(struct world *w)
{
    int64_t id;

    configure(w, "max_single_step_size_bytes", 3 * FILE_SIZE);
    id = world_step(w);
    OK(w->backend->unlink(w, "file7")); /* kept, and dropped again */
    for (unsigned i = 0; i < 5; i++)
        overwrite(w, i, 100 + i);
    do_everything(w);
    expect_unprotected(w, id);
    return id;
}

static void rollback_refused(struct world *w, int steps, bool force, int code)
{
    world_refused(w, "rollback",
                  json_pack("{s:i, s:b}", "steps", steps, "force", force),
                  code);
}

static void expect_wall(struct world *w, int64_t id)
{
    json_t *answer = world_request(w, "history", NULL);
    json_t *step = json_array_get(json_object_get(answer, "steps"), 0);
    g_autoptr(GPtrArray) before = world_snapshot(w);

    g_assert_cmpint(json_integer_value(json_object_get(step, "step_id")), ==,
                    id);
    g_assert_true(json_is_false(json_object_get(step, "undoable")));
    g_assert_true(json_is_true(json_object_get(step, "unprotected")));
    json_decref(answer);
    rollback_refused(w, 1, false, ERROR_STEP_UNPROTECTED);
    rollback_refused(w, 1, true, ERROR_STEP_UNPROTECTED);
    rollback_refused(w, 2, true, ERROR_STEP_UNPROTECTED);
    world_assert_equal(w, before);
}

/* Steps after the wall are undone, up to it. */
static void expect_goes_on(struct world *w)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);

    small_step(w, "after the wall");
    rollback_refused(w, 2, false, ERROR_STEP_UNPROTECTED);
    json_decref(world_undo(w, 1));
    world_assert_equal(w, before);
    rollback_refused(w, 1, false, ERROR_STEP_UNPROTECTED);
}

static void expect_no_blobs(struct world *w, int64_t id)
{
    g_autofree char *name = g_strdup_printf("steps/%d/blobs", (int)id);
    g_autofree char *path = g_build_filename(w->undo_dir, name, NULL);

    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

static void ui17(gconstpointer data)
{
    struct world *w = start_world(data);
    json_t *report;
    int64_t id;

    if (!w)
        return;
    small_step(w, "step 1");
    id = go_over(w);
    report = world_close_step(w, id);
    g_assert_true(json_is_false(json_object_get(report, "undoable")));
    g_assert_true(json_is_true(json_object_get(report, "unprotected")));
    json_decref(report);
    expect_no_blobs(w, id);
    expect_wall(w, id);
    expect_goes_on(w);
    w->backend->stop(w);
    world_start(w);
    expect_wall(w, id);
    expect_goes_on(w);
    world_free(w);
}

/* The record says it before anything goes through uncaptured; so whoever is
 * killed there knows afterwards. */
static void ui17_killed(gconstpointer data)
{
    struct world *w = start_world(data);
    g_autoptr(GPtrArray) left = NULL;
    int64_t id;

    if (!w)
        return;
    small_step(w, "step 1");
    id = go_over(w);
    w->backend->kill(w);
    left = world_snapshot(w);
    world_start(w);
    g_assert_nonnull(w->recovery);
    g_assert_true(json_is_false(json_object_get(w->recovery, "undoable")));
    g_assert_cmpint(
        json_integer_value(json_object_get(w->recovery, "restored_paths")), ==,
        0);
    world_assert_equal(w, left);
    expect_wall(w, id);
    expect_goes_on(w);
    w->backend->stop(w);
    world_start(w);
    g_assert_null(w->recovery);
    expect_wall(w, id);
    world_free(w);
}

static void ui17_aborted(gconstpointer data)
{
    struct world *w = start_world(data);
    g_autoptr(GPtrArray) left = NULL;
    int64_t id;

    if (!w)
        return;
    id = go_over(w);
    left = world_snapshot(w);
    world_refused(w, "step.abort",
                  json_pack("{s:I}", "step_id", (json_int_t)id),
                  ERROR_STEP_UNPROTECTED);
    world_assert_equal(w, left);
    expect_wall(w, id);
    expect_goes_on(w);
    world_free(w);
}

/* One file that alone is too large: nothing of it is copied first. */
static void ui17_one_file(gconstpointer data)
{
    struct world *w = start_world(data);
    int64_t id;

    if (!w)
        return;
    configure(w, "max_single_step_size_bytes", FILE_SIZE / 2);
    id = world_step(w);
    OK(w->backend->put(w, "file0", O_TRUNC, "x", 1, 0));
    json_decref(world_close_step(w, id));
    expect_unprotected(w, id);
    expect_wall(w, id);
    world_free(w);
}

/* Records count, too: no step may fill the disk by them. */
static void dos01(gconstpointer data)
{
    struct world *w = start_world(data);
    int64_t id;

    if (!w)
        return;
    configure(w, "max_single_step_size_bytes", 16 << 10);
    id = world_step(w);
    for (int i = 0; i < 400; i++) {
        g_autofree char *name = g_strdup_printf("unique%d", i);

        OK(w->backend->put(w, name, O_CREAT, "x", 1, 0));
    }
    expect_unprotected(w, id);
    json_decref(world_request(w, "status", NULL));
    json_decref(world_close_step(w, id));
    expect_wall(w, id);
    expect_goes_on(w);
    world_free(w);
}

/* ---- eviction ------------------------------------------------------------ */

/* That they are gone from the log as well. */
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
    struct world *w = start_world(data);
    g_autoptr(GPtrArray) before = NULL;

    if (!w)
        return;
    configure(w, "max_step_count", 3);
    small_step(w, "1");
    small_step(w, "2");
    before = world_snapshot(w);
    for (int i = 3; i <= 5; i++)
        small_step(w, file_name((unsigned)i));
    expect_evicted(w, "max_step_count", 1, 2);
    expect_steps(w, 3, 5);
    rollback_refused(w, 4, true, ERROR_NOTHING_TO_UNDO);
    json_decref(world_undo(w, 3));
    world_assert_equal(w, before);
    /* Their ids stay used. */
    w->backend->stop(w);
    world_start(w);
    world_refused(w, "step.open", json_pack("{s:i}", "step_id", 5),
                  ERROR_INVALID_FIELD);
    world_free(w);
}

static void ui18_configured(gconstpointer data)
{
    struct world *w = start_world(data);

    if (!w)
        return;
    for (unsigned i = 1; i <= 5; i++)
        small_step(w, file_name(i));
    configure(w, "max_step_count", 2);
    expect_evicted(w, "max_step_count", 1, 3);
    expect_steps(w, 4, 5);
    world_refused(w, "configure", json_pack("{s:i}", "max_step_count", -2),
                  ERROR_INVALID_FIELD);
    configure(w, "max_step_count", -1);
    for (unsigned i = 6; i <= 8; i++)
        small_step(w, file_name(i));
    expect_steps(w, 4, 8);
    world_free(w);
}

static void ui19(gconstpointer data)
{
    struct world *w = start_world(data);
    g_autoptr(GPtrArray) before = NULL;

    if (!w)
        return;
    configure(w, "max_log_size_bytes", 3 * FILE_SIZE);
    for (unsigned i = 1; i <= 3; i++)
        overwrite_step(w, i, 10 + i);
    before = world_snapshot(w);
    overwrite_step(w, 0, 20);
    overwrite_step(w, 1, 21);
    expect_evicted(w, "max_log_size", 1, 3);
    expect_steps(w, 4, 5);
    json_decref(world_undo(w, 2));
    world_assert_equal(w, before);
    world_free(w);
}

/* A step that alone is more than the log may hold does not push out the rest
 * and then itself: it is over its own limit. */
static void ui19_one_step(gconstpointer data)
{
    struct world *w = start_world(data);
    int64_t id;

    if (!w)
        return;
    small_step(w, "1");
    configure(w, "max_log_size_bytes", 2 * FILE_SIZE);
    id = world_step(w);
    for (unsigned i = 0; i < 4; i++)
        overwrite(w, i, 30 + i);
    json_decref(world_close_step(w, id));
    expect_unprotected(w, id);
    expect_steps(w, 1, 2);
    world_free(w);
}

/* What is removed is moved, not copied: it is not the log's weight. */
static void moved_is_free(gconstpointer data)
{
    struct world *w = start_world(data);
    g_autoptr(GPtrArray) before = NULL;
    json_t *report;
    int64_t id;

    if (!w)
        return;
    before = world_snapshot(w);
    configure(w, "max_single_step_size_bytes", FILE_SIZE);
    configure(w, "max_log_size_bytes", FILE_SIZE);
    id = world_step(w);
    for (unsigned i = 0; i < FILES; i++)
        OK(w->backend->unlink(w, file_name(i)));
    report = world_close_step(w, id);
    g_assert_true(json_is_true(json_object_get(report, "undoable")));
    json_decref(report);
    w->backend->stop(w);
    world_start(w); /* the limits are the defaults again */
    configure(w, "max_log_size_bytes", FILE_SIZE);
    expect_steps(w, id, id);
    json_decref(world_undo(w, 1));
    world_assert_equal(w, before);
    world_free(w);
}

/* Killed between the rename and the removal: the next start goes on. */
static void killed_evicting(gconstpointer data)
{
    struct world *w = start_world(data);
    g_autofree char *step = NULL, *trash = NULL, *left = NULL;

    if (!w)
        return;
    step = g_build_filename(w->undo_dir, "steps/1", NULL);
    trash = g_build_filename(w->undo_dir, "wal/trash", NULL);
    left = g_build_filename(trash, "7", NULL);
    overwrite_step(w, 0, 1);
    small_step(w, "2");
    w->backend->stop(w);
    OK(g_mkdir_with_parents(trash, 0700));
    OK(rename(step, left));
    world_start(w);
    g_assert_false(g_file_test(left, G_FILE_TEST_EXISTS));
    expect_steps(w, 2, 2);
    json_decref(world_undo(w, 1));
    world_free(w);
}

/* More names than are removed while others wait. */
static void large_trash(gconstpointer data)
{
    struct world *w = world_new(data);
    g_autofree char *trash = g_build_filename(w->undo_dir, "wal/trash", NULL);
    int64_t id;

    world_host_dir(w, "many");
    for (int i = 0; i < 1000; i++) {
        g_autofree char *name = g_strdup_printf("many/%d", i);

        world_host_file(w, name, "x");
    }
    world_host_file(w, "other", "other");
    if (world_start(w)) {
        configure(w, "max_step_count", 1);
        id = world_step(w);
        for (int i = 0; i < 1000; i++) {
            g_autofree char *name = g_strdup_printf("many/%d", i);

            OK(w->backend->unlink(w, name));
        }
        json_decref(world_close_step(w, id));
        small_step(w, "evicts");
        expect_evicted(w, "max_step_count", id, id);
        w->backend->stop(w);
        world_start(w); /* what was left is removed now, or soon */
        expect_steps(w, id + 1, id + 1);
        json_decref(world_undo(w, 1));
    }
    world_free(w);
}

static const struct {
    const char *name;
    void (*run)(gconstpointer backend);
} cases[] = {
    { "UI-17/unprotected", ui17 },
    { "UI-17/killed", ui17_killed },
    { "UI-17/aborted", ui17_aborted },
    { "UI-17/one-file", ui17_one_file },
    { "DOS-01/records", dos01 },
    { "UI-18/step-count", ui18 },
    { "UI-18/configured", ui18_configured },
    { "UI-19/log-size", ui19 },
    { "UI-19/one-step", ui19_one_step },
    { "evict/killed", killed_evicting },
    { "evict/large", large_trash },
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
