/* SPDX-License-Identifier: Apache-2.0
 *
 * engine_broken_log_tests - undo from a damaged log, and interrupted rollbacks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/errors.h"
#include "interceptor/log/journal.h"
#include "tests/engine/engine_guard.h"
#include "tests/engine/engine_tests.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

/* ---- damaged logs -------------------------------------------------------- */

static void flip_byte(const char *path, off_t offset)
{
    int fd = open(path, O_RDWR);
    char byte;

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(pread(fd, &byte, 1, offset), ==, 1);
    byte ^= 0x40;
    g_assert_cmpint(pwrite(fd, &byte, 1, offset), ==, 1);
    close(fd);
}

/* Nothing changes, the step stays in the history, and it can be undone once the
 * log is intact again. */
static void expect_refused(struct guard *f, int code)
{
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    g_autoptr(GPtrArray) history = NULL;
    g_autoptr(GError) error = NULL;

    g_assert_false(ic_rollback(f->ic, 1, false, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, code);
    world_assert_equal(f->world, before);
    history = ic_history(f->ic, 10, NULL);
    g_assert_cmpuint(history->len, ==, 1);
}

static void corrupt_blob(struct guard *f, gconstpointer data)
{
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    g_autofree char *blob = guard_log_path(f, "steps/1/blobs/data");

    guard_overwrite_file(f);
    flip_byte(blob, 20);
    expect_refused(f, ERROR_PREIMAGE_CORRUPT);
    flip_byte(blob, 20);
    g_assert_true(ic_rollback(f->ic, 1, false, NULL, NULL));
    world_assert_equal(f->world, before);
}

static void missing_blob(struct guard *f, gconstpointer data)
{
    g_autofree char *blob = guard_log_path(f, "steps/1/blobs/data");

    guard_overwrite_file(f);
    OK(unlink(blob));
    expect_refused(f, ERROR_PREIMAGE_MISSING);
}

static void missing_inode(struct guard *f, gconstpointer data)
{
    g_autofree char *folder = guard_log_path(f, "steps/1/blobs");
    g_autoptr(GDir) dir = NULL;
    const char *name;

    guard_overwrite_file(f);
    dir = g_dir_open(folder, 0, NULL);
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);

        if (name[0] == 'i')
            OK(unlink(path));
    }
    expect_refused(f, ERROR_PREIMAGE_MISSING);
}

static void damaged_line(struct guard *f, gconstpointer data)
{
    g_autofree char *manifest = guard_log_path(f, "steps/1/manifest.jsonl");
    g_autofree char *text = NULL;

    guard_overwrite_file(f);
    g_assert_true(g_file_get_contents(manifest, &text, NULL, NULL));
    flip_byte(manifest, strstr(text, "{\"t\":\"b\"") - text + 12);
    expect_refused(f, ERROR_PREIMAGE_CORRUPT);
    g_assert_true(ic_rollback(f->ic, 1, true, NULL, NULL));
}

/* Killed while it wrote the first line. */
static void torn_header(struct guard *f, gconstpointer data)
{
    g_autofree char *wal = guard_log_path(f, "wal/in_progress");
    g_autofree char *manifest = guard_log_path(
        f, "wal/in_progress/manifest.jsonl");
    g_autoptr(GPtrArray) before = world_snapshot(f->world);

    ic_close(f->ic);
    OK(g_mkdir_with_parents(wal, 0700));
    g_assert_true(g_file_set_contents(manifest, data, -1, NULL));
    guard_start(f);
    g_assert_null(ic_recovered(f->ic));
    g_assert_false(g_file_test(wal, G_FILE_TEST_EXISTS));
    world_assert_equal(f->world, before);
}

static void other_version(struct guard *f, gconstpointer data)
{
    g_autofree char *version = guard_log_path(f, "version");
    g_autoptr(GError) error = NULL;

    ic_close(f->ic);
    g_assert_true(g_file_set_contents(version, "99\n", -1, NULL));
    guard_start(f);
    g_assert_null(ic_history(f->ic, 1, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_UNDO_VERSION_MISMATCH);
    ic_close(f->ic);
    g_assert_true(g_file_set_contents(version, "1\n", -1, NULL));
    guard_start(f);
}

/* ---- interrupted rollbacks ----------------------------------------------- */

/* Killed after a directory was put aside and before it was processed: an entry
 * that was moved into it is only there. */
static void killed_while_detaching(struct guard *f, gconstpointer data)
{
    g_autoptr(GPtrArray) before = world_snapshot(f->world);
    struct ic_inode *root = ic_root(f->ic);
    struct ic_inode *dir = guard_lookup(f, root, "dir");
    g_autofree char *step = guard_log_path(f, "steps/1");
    g_autofree char *wal = guard_log_path(f, "wal/in_progress");
    g_autofree char *staging = g_build_filename(wal, "staging", NULL);
    g_autofree char *moved = world_host_path(f->world, "dir2");
    g_autofree char *staged = g_strdup_printf("%s/%ju", staging,
                                              (uintmax_t)ic_inode_ino(dir));
    struct ic_step_info *recovered;

    guard_open_step(f, 1);
    OK(ic_renameat2(f->ic, root, "file", dir, "file", 0));
    OK(ic_renameat2(f->ic, root, "dir", root, "dir2", 0));
    guard_close_step(f, 1);
    ic_inode_unref(dir);
    ic_close(f->ic);
    OK(rename(step, wal));
    OK(mkdir(staging, 0700));
    OK(rename(moved, staged));
    guard_start(f);
    recovered = ic_recovered(f->ic);
    g_assert_nonnull(recovered);
    ic_step_info_free(recovered);
    world_assert_equal(f->world, before);
}

/* Two steps are requested, and the older one cannot be undone. */
static void half_of_two(struct guard *f, gconstpointer data)
{
    g_autofree char *made = world_host_path(f->world, "made");
    g_autoptr(GError) error = NULL;
    struct ic_rollback_result *result;
    struct ic_inode *inode;

    guard_overwrite_file(f);
    guard_open_step(f, 2);
    OK(ic_mkdirat(f->ic, &f->cred, ic_root(f->ic), "made", 0755, &inode, NULL));
    ic_inode_unref(inode);
    guard_close_step(f, 2);
    world_host_file(f->world, "file", "from outside, and longer");
    g_assert_false(ic_rollback_steps(f->ic, 2, false, &result, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_UNDO_BARRIER);
    g_test_message("%s", error->message);
    g_assert_true(
        g_str_has_prefix(error->message, "1 of 2 steps undone (2); step 1: "));
    g_assert_cmpuint(result->steps->len, ==, 1);
    ic_rollback_result_free(result);
    g_assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
    g_assert_true(ic_rollback(f->ic, 1, true, NULL, NULL));
}

/* The same for redo, which then has its steps again. */
static void half_of_two_redone(struct guard *f, gconstpointer data)
{
    g_autofree char *made = world_host_path(f->world, "made");
    g_autoptr(GError) error = NULL;
    struct ic_rollback_result *result;
    struct ic_inode *inode;

    guard_overwrite_file(f);
    guard_open_step(f, 2);
    OK(ic_mkdirat(f->ic, &f->cred, ic_root(f->ic), "made", 0755, &inode, NULL));
    ic_inode_unref(inode);
    guard_close_step(f, 2);
    g_assert_true(ic_rollback(f->ic, 2, false, NULL, NULL));
    g_assert_false(ic_redo(f->ic, 0, false, &result, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
    g_clear_error(&error);
    ic_rollback_result_free(result);
    g_assert_false(ic_redo(f->ic, 3, false, &result, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_REDO);
    g_clear_error(&error);
    ic_rollback_result_free(result);
    world_host_file(f->world, "made", "from outside");
    g_assert_false(ic_redo(f->ic, 2, false, &result, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_UNDO_BARRIER);
    g_test_message("%s", error->message);
    g_assert_true(
        g_str_has_prefix(error->message, "1 of 2 steps redone (1); step 2: "));
    g_assert_cmpuint(result->steps->len, ==, 1);
    ic_rollback_result_free(result);
    g_assert_cmpuint(ic_redoable(f->ic), ==, 1);
    g_assert_true(ic_redo(f->ic, 1, true, &result, NULL));
    ic_rollback_result_free(result);
    g_assert_true(g_file_test(made, G_FILE_TEST_IS_DIR));
}

/* A forced undo skips the step, and says so. */
static void passed_by(struct guard *f, gconstpointer data)
{
    g_autofree char *manifest = guard_log_path(f, "steps/1/manifest.jsonl");
    const struct ic_step_info *info;
    struct ic_rollback_result *result;

    guard_overwrite_file(f);
    OK(unlink(manifest));
    g_assert_true(ic_preview(f->ic, 1, true, &result, NULL));
    info = g_ptr_array_index(result->steps, 0);
    g_assert_true(info->damaged);
    ic_rollback_result_free(result);
    g_assert_true(ic_rollback_steps(f->ic, 1, true, &result, NULL));
    info = g_ptr_array_index(result->steps, 0);
    g_assert_true(info->damaged && !info->undoable);
    g_assert_cmpuint(result->warnings->len, ==, 1);
    ic_rollback_result_free(result);
}

/* An obstacle stops a rollback half-way. A retry after its removal rolls back
 * that step, and no other. */
static void tried_again(struct guard *f, gconstpointer data)
{
    const char *log = f->world->undo_dir;
    g_autofree char *obstacle = g_build_filename(log, "steps", "2", "staging",
                                                 NULL);
    g_autofree char *now = g_build_filename(log, "wal", "in_progress",
                                            "staging", NULL);
    struct ic_inode *dir = guard_lookup(f, ic_root(f->ic), "dir");
    g_autoptr(GPtrArray) infos = NULL, history = NULL, before = NULL;
    struct ic_setattr attr = { .valid = IC_SET_MODE, .mode = 0700 };
    g_autoptr(GError) error = NULL;
    struct ic_inode *sub = guard_lookup(f, dir, "sub");

    guard_open_step(f, 1);
    OK(ic_unlinkat(f->ic, ic_root(f->ic), "file", 0));
    guard_close_step(f, 1);
    before = world_snapshot(f->world);
    guard_open_step(f, 2);
    OK(ic_setattr(f->ic, sub, -1, &attr, NULL));
    guard_close_step(f, 2);
    g_assert_true(g_file_set_contents(obstacle, "", 0, NULL));
    g_assert_false(ic_rollback(f->ic, 1, false, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_IO_ERROR);
    g_assert_cmpint(ic_unlinkat(f->ic, ic_root(f->ic), "other", 0), ==, -EIO);
    OK(unlink(now));
    g_assert_true(ic_rollback(f->ic, 1, false, &infos, NULL));
    g_assert_cmpuint(infos->len, ==, 1);
    history = ic_history(f->ic, 10, NULL);
    g_assert_cmpuint(history->len, ==, 1);
    ic_inode_unref(sub);
    ic_inode_unref(dir);
}

static void huge_step_id(struct guard *f, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    g_assert_false(
        ic_step_open(f->ic, G_MAXINT64 / 2, IC_STEP_API, NULL, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
    guard_open_step(f, 1);
    guard_close_step(f, 1);
}

/* A record too large to be read back is refused, and so is the change. */
static void huge_record(struct guard *f, gconstpointer data)
{
    g_autofree char *text = g_strnfill(JOURNAL_MAX_LINE, 'x');
    g_autofree char *path = guard_log_path(f, "huge");
    struct journal *journal;

    OK(journal_open(AT_FDCWD, path, &journal));
    g_assert_cmpint(journal_append_text(journal, text, strlen(text)), ==,
                    -EFBIG);
    OK(journal_append_text(journal, "{\"t\":1", 6));
    journal_close(journal);
}

static const struct guard_case cases[] = {
    { "/broken-log/UL-08/corrupt-blob", corrupt_blob },
    { "/broken-log/UL-07/missing-blob", missing_blob },
    { "/broken-log/UL-07/missing-inode", missing_inode },
    { "/broken-log/UL-06/damaged-line", damaged_line },
    { "/broken-log/rollback/killed-while-detaching", killed_while_detaching },
    { "/broken-log/rollback/retry-undoes-one-step", tried_again },
    { "/broken-log/rollback/stops-at-damaged-step", half_of_two },
    { "/broken-log/redo/stops-at-damaged-step", half_of_two_redone },
    { "/broken-log/rollback/force-skips-damaged-step", passed_by },
    { "/broken-log/huge-step-id", huge_step_id },
    { "/broken-log/huge-record-is-refused", huge_record },
    { "/broken-log/CR-07/empty-manifest", torn_header, "" },
    { "/broken-log/CR-07/torn-header", torn_header, "{\"t\":\"step\",\"v\":1" },
    { "/broken-log/UL-04/other-version", other_version },
};

void add_engine_broken_log_tests(void)
{
    guard_add_cases(cases, G_N_ELEMENTS(cases));
}
