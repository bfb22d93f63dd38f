/* SPDX-License-Identifier: Apache-2.0
 *
 * unprotected-test - steps that change more than the log may keep.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/errors.h"
#include "tests/lib/limits_common.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

/* ---- unprotected steps --------------------------------------------------- */

/* Do everything that a step can do, when it is already unprotected. */
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

enum { TICK_US = 20000 }; /* longer than the clock tick of ctimes */

/* Make a step that exceeds its limit, and leave it open. */
static int64_t go_over(struct world *w)
{
    int64_t id;

    limits_configure(w, "max_single_step_size_bytes", 3 * FILE_SIZE);
    id = world_step(w);
    OK(w->backend->unlink(w, "file7"));
    g_usleep(TICK_US);
    for (unsigned i = 0; i < 5; i++)
        limits_overwrite(w, i, 100 + i);
    do_everything(w);
    limits_expect_unprotected(w, id);
    return id;
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
    limits_rollback_refused(w, 1, false, ERROR_STEP_UNPROTECTED);
    limits_rollback_refused(w, 1, true, ERROR_STEP_UNPROTECTED);
    limits_rollback_refused(w, 2, true, ERROR_STEP_UNPROTECTED);
    world_assert_equal(w, before);
}

/* Steps after the wall can be undone, up to it. */
static void expect_goes_on(struct world *w)
{
    g_autoptr(GPtrArray) before = world_snapshot(w);
    g_autoptr(GError) error = NULL;

    limits_small_step(w, "after the wall");
    limits_rollback_refused(w, 2, false, ERROR_STEP_UNPROTECTED);
    g_assert_null(w->backend->request(w, "rollback",
                                      json_pack("{s:i}", "steps", 2), &error));
    g_assert_nonnull(strstr(error->message, "only 1 newer step can be undone"));
    world_undo_to(w, 1, before);
    limits_rollback_refused(w, 1, false, ERROR_STEP_UNPROTECTED);
}

/* Read the content of all files, by path: owned GBytes. */
static GHashTable *read_files(struct world *w)
{
    GHashTable *files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                              (GDestroyNotify)g_bytes_unref);

    for (unsigned i = 0; i < FILES; i++) {
        g_autofree char *path = world_host_path(w, limits_file_name(i));
        gsize length;
        char *bytes;

        g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
        g_hash_table_insert(files, g_strdup(limits_file_name(i)),
                            g_bytes_new_take(bytes, length));
    }
    return files;
}

static void assert_version(json_t *version, GBytes *bytes)
{
    gsize length;
    g_autofree guchar *content = g_base64_decode(
        json_string_value(json_object_get(version, "content")), &length);

    g_assert_cmpmem(content, length, g_bytes_get_data(bytes, NULL),
                    g_bytes_get_size(bytes));
}

/* The diff of the step says that it is unprotected. Each file in it has its
 * former content; the files listed here (NULL-terminated) are in it. */
static void expect_diff(struct world *w, int64_t id, GHashTable *files, ...)
{
    json_t *answer = world_request(
        w, "diff", json_pack("{s:I}", "step_id", (json_int_t)id));
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    const char *path;
    json_t *file;
    va_list wanted;
    size_t i;

    g_assert_true(json_is_true(json_object_get(answer, "unprotected")));
    json_array_foreach(json_object_get(answer, "files"), i, file)
    {
        GBytes *bytes;

        path = json_string_value(json_object_get(file, "path"));
        bytes = g_hash_table_lookup(files, path);
        g_test_message("the diff has %s", path);
        if (bytes)
            assert_version(json_object_get(file, "before"), bytes);
        g_hash_table_add(seen, (gpointer)path);
    }
    va_start(wanted, files);
    while ((path = va_arg(wanted, const char *)))
        g_assert_true(g_hash_table_contains(seen, path));
    va_end(wanted);
    json_decref(answer);
}

/* Content that may have changed after recording stopped is not shown as old
 * content: of a removed file that is open, one kept in part, one that was
 * moved, and one whose number was reused. */
static void a_diff_shows_only_known_content(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);
    g_autofree char *large = w ? world_host_path(w, "file5") : NULL;
    g_autofree char *text = g_strnfill(6 * FILE_SIZE, 'o');
    g_autoptr(GHashTable) files = NULL;
    void *handle;
    int64_t id;

    if (!w)
        return;
    g_assert_true(g_file_set_contents(large, text, -1, NULL));
    files = read_files(w);
    limits_configure(w, "max_single_step_size_bytes", 6 * FILE_SIZE);
    handle = w->backend->open(w, "file7", O_RDWR);
    g_assert_nonnull(handle);
    id = world_step(w);
    OK(w->backend->put(w, "file5", 0, "part", 4, 5000));
    OK(w->backend->rename(w, "file6", "away", 0));
    OK(w->backend->unlink(w, "file7"));
    g_usleep(TICK_US);
    for (unsigned i = 0; i < 5; i++)
        limits_overwrite(w, i, 100 + i);
    limits_expect_unprotected(w, id);
    w->backend->write(w, handle, "later", 5, 100);
    w->backend->close(w, handle);
    OK(w->backend->put(w, "file5", O_TRUNC, "later", 5, 0));
    OK(w->backend->unlink(w, "away"));
    OK(w->backend->unlink(w, "file0"));
    for (unsigned i = 0; i < 20; i++) {
        g_autofree char *name = g_strdup_printf("new%u", i);

        OK(w->backend->put(w, name, O_CREAT, "new", 3, 0));
    }
    OK(w->backend->rename(w, "new0", "file6", 0));
    world_end_step(w);
    expect_diff(w, id, files, "file0", NULL);
    limits_small_step(w, "above");
    w->backend->stop(w);
    world_start(w);
    expect_diff(w, id, files, "file0", NULL);
}

static void ui17(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);
    g_autoptr(GHashTable) files = NULL;
    json_t *report;
    int64_t id;

    if (!w)
        return;
    files = read_files(w);
    limits_small_step(w, "step 1");
    id = go_over(w);
    report = world_close_step(w);
    g_assert_true(json_is_false(json_object_get(report, "undoable")));
    g_assert_true(json_is_true(json_object_get(report, "unprotected")));
    json_decref(report);
    expect_diff(w, id, files, "file0", "file7", NULL);
    expect_wall(w, id);
    expect_goes_on(w);
    w->backend->stop(w);
    world_start(w);
    expect_wall(w, id);
    expect_diff(w, id, files, "file0", "file7", NULL);
    expect_goes_on(w);
}

/* The reply says which file was too much, and what cannot be undone because of
 * it. */
static void a_wall_is_reported(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);
    json_t *event, *answer, *step;
    const char *message;
    int64_t id;
    size_t i;

    if (!w)
        return;
    limits_small_step(w, "below");
    limits_configure(w, "max_single_step_size_bytes", 2 * FILE_SIZE);
    id = world_step(w);
    limits_overwrite(w, 0, 100);
    OK(w->backend->truncate(w, "file1", 0)); /* too much, with its record */
    event = limits_take_warning(w, "step_unprotected");
    g_assert_nonnull(event);
    g_assert_cmpstr(json_string_value(json_object_get(event, "path")), ==,
                    "file1");
    g_assert_cmpint(json_integer_value(json_object_get(event, "size")), ==,
                    FILE_SIZE);
    message = json_string_value(json_object_get(event, "message"));
    g_assert_nonnull(strstr(message, "at file1 (64.0 KiB): it and older steps "
                                     "cannot be undone; newer ones can"));
    json_decref(event);
    world_end_step(w);
    limits_small_step(w, "above");
    answer = world_request(w, "history", NULL);
    json_array_foreach(json_object_get(answer, "steps"), i, step)
    {
        json_t *below = json_object_get(step, "below_unprotected");

        g_assert_cmpint(json_is_true(json_object_get(step, "undoable")), ==,
                        i == 0);
        g_assert_cmpint(json_integer_value(below), ==, i == 2 ? id : 0);
    }
    g_assert_cmpuint(i, ==, 3);
    json_decref(answer);
}

enum { LARGE = 232 << 20 };

static void put_large(struct world *w, char byte)
{
    g_autofree char *data = g_malloc(LARGE);

    memset(data, byte, LARGE);
    data[0] = 'x'; /* not a hole on any file system */
    OK(w->backend->put(w, "large", O_CREAT, data, LARGE, 0));
}

/* If the disk has space, more than the default limit is kept of a step, and
 * that evicts nothing from the log. */
static void more_is_kept_on_a_large_disk(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);
    g_autoptr(GPtrArray) before = NULL, between = NULL, after = NULL;
    struct statvfs st;

    if (!w)
        return;
    OK(statvfs(w->undo_dir, &st));
    if (st.f_bavail * st.f_frsize <
        st.f_blocks * st.f_frsize / 20 + (1 << 30)) {
        g_test_skip("not enough room on this disk");
        return;
    }
    put_large(w, 'a');
    json_decref(world_request(w, "discard", NULL));
    before = world_snapshot(w);
    limits_small_step(w, "below");
    between = world_snapshot(w);
    world_step(w);
    put_large(w, 'b');
    world_end_step(w);
    after = world_snapshot(w);
    limits_small_step(w, "above");
    g_assert_null(limits_take_warning(w, "step_unprotected"));
    g_assert_null(limits_take_warning(w, "steps_evicted"));
    world_undo_to(w, 1, after);
    world_undo_to(w, 1, between);
    world_redo_to(w, 1, after);
    world_undo_to(w, 2, before);
}

/* The record says so before any uncaptured change goes through, so it is known
 * after a kill. */
static void ui17_killed(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);
    g_autoptr(GPtrArray) left = NULL;
    int64_t id;

    if (!w)
        return;
    limits_small_step(w, "step 1");
    id = go_over(w);
    w->backend->kill(w);
    left = world_snapshot(w);
    world_start(w);
    g_assert_nonnull(w->recovery);
    g_assert_true(json_is_false(json_object_get(w->recovery, "taken_back")));
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
}

static void ui17_aborted(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);
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
}

/* One file that alone is too large: none of it is copied first. */
static void ui17_one_file(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);
    int64_t id;

    if (!w)
        return;
    limits_configure(w, "max_single_step_size_bytes", FILE_SIZE / 2);
    id = world_step(w);
    OK(w->backend->put(w, "file0", O_TRUNC, "x", 1, 0));
    world_end_step(w);
    limits_expect_unprotected(w, id);
    expect_wall(w, id);
}

/* Records count, too: no step may fill the disk with them. */
static void dos01(gconstpointer data)
{
    world_auto struct world *w = limits_world(data);
    int64_t id;

    if (!w)
        return;
    limits_configure(w, "max_single_step_size_bytes", 16 << 10);
    id = world_step(w);
    for (int i = 0; i < 400; i++) {
        g_autofree char *name = g_strdup_printf("unique%d", i);

        OK(w->backend->put(w, name, O_CREAT, "x", 1, 0));
    }
    limits_expect_unprotected(w, id);
    json_decref(world_request(w, "status", NULL));
    world_end_step(w);
    expect_wall(w, id);
    expect_goes_on(w);
}

static const struct world_case cases[] = {
    { "a-diff-shows-only-known-content", a_diff_shows_only_known_content },
    { "a-wall-is-reported", a_wall_is_reported },
    { "more-is-kept-on-a-large-disk", more_is_kept_on_a_large_disk },
    { "UI-17/unprotected", ui17 },
    { "UI-17/killed", ui17_killed },
    { "UI-17/aborted", ui17_aborted },
    { "UI-17/one-file", ui17_one_file },
    { "DOS-01/records", dos01 },
};

int main(int argc, char **argv)
{
    umask(022);
    g_test_init(&argc, &argv, NULL);
    world_add_cases("/unprotected", WORLD_WITHOUT_9P, cases,
                    G_N_ELEMENTS(cases));
    return g_test_run();
}
