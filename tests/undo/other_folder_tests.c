/* SPDX-License-Identifier: Apache-2.0
 *
 * other_folder_tests - an undo log beside a folder whose steps it does not
 * have.
 *
 * Another folder is put in the place of the first one, with files of the same
 * names. It must not change, and the log must lose nothing: when the first
 * folder is back, everything is as if it had never been away.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "interceptor/interceptor.h"
#include "tests/lib/edits.h"
#include "tests/lib/oracle.h"
#include "tests/undo/undo_tests.h"

/* ---- the other folder ---------------------------------------------------- */

static void move(struct edits *f, const char *from, const char *to)
{
    g_autofree char *source = g_strconcat(f->w->share, from, NULL);
    g_autofree char *target = g_strconcat(f->w->share, to, NULL);

    g_assert_cmpint(rename(source, target), ==, 0);
}

static void replace_folder(struct edits *f)
{
    g_autofree char *dir = world_host_path(f->w, "dir");

    move(f, "", ".gone");
    g_assert_cmpint(mkdir(f->w->share, 0755), ==, 0);
    g_assert_cmpint(mkdir(dir, 0755), ==, 0);
    edits_write(f, "file", "precious");
    edits_write(f, "dir/made", "precious");
}

static void bring_back(struct edits *f)
{
    move(f, "", ".other");
    move(f, ".gone", "");
}

/* Assert that neither a server nor an undo starts with the unfinished step. */
static void assert_not_opened(struct edits *f)
{
    const struct ic_options options = { .share = f->w->share,
                                        .undo_dir = f->w->undo_dir };
    g_autoptr(GPtrArray) before = world_snapshot(f->w);
    g_autoptr(GError) error = NULL;

    g_assert_null(ic_open_share(&options, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY);
    g_assert_nonnull(strstr(error->message, "(unfinished) changed another"));
    g_assert_nonnull(strstr(error->message, "stepback undo --discard"));
    world_assert_equal(f->w, before);
}

/* With a server for a folder that the steps are not from. */
static void assert_refused(struct edits *f, const char *operation)
{
    g_autoptr(GPtrArray) before = world_snapshot(f->w);

    world_refused(f->w, operation, edits_undo_payload(false),
                  ERROR_INVALID_DIRECTORY);
    world_refused(f->w, operation, edits_undo_payload(true),
                  ERROR_INVALID_DIRECTORY);
    world_assert_equal(f->w, before);
}

/* ---- cases --------------------------------------------------------------- */

static void change(struct edits *f)
{
    edits_client_put(f, "file", 0, "of the step");
    edits_client_put(f, "dir/made", O_CREAT, "of the step");
    g_assert_cmpint(f->w->backend->unlink(f->w, "dir/sub/gone"), ==, 0);
}

static void unfinished(struct edits *f)
{
    world_step(f->w);
    change(f);
    f->w->backend->kill(f->w);
    replace_folder(f);
    assert_not_opened(f);
    assert_not_opened(f); /* the first try has changed nothing */
    bring_back(f);
    g_assert_true(world_start(f->w));
    world_assert_equal(f->w, f->before);
}

/* Nothing had changed yet, so there is nothing to undo there. */
static void unfinished_unused(struct edits *f)
{
    int64_t id = world_step(f->w);

    f->w->backend->kill(f->w);
    replace_folder(f);
    g_assert_true(world_start(f->w));
    edits_client_step(f, "file", "of the step");
    g_assert_cmpint(f->w->next_id, >, id);
    edits_undone(f);
    f->w->backend->stop(f->w);
    bring_back(f);
    g_assert_true(world_start(f->w));
    world_assert_equal(f->w, f->before);
}

static void unfinished_ambient(struct edits *f)
{
    change(f);
    f->w->backend->kill(f->w);
    replace_folder(f);
    assert_not_opened(f);
    bring_back(f);
    g_assert_true(world_start(f->w));
    edits_undone(f);
    world_assert_equal(f->w, f->before);
}

static void unfinished_given_up(struct edits *f)
{
    const struct ic_options options = { .share = f->w->share,
                                        .undo_dir = f->w->undo_dir,
                                        .keep_unfinished = true };
    g_autoptr(GPtrArray) now = NULL;
    struct ic *ic;

    world_step(f->w);
    change(f);
    f->w->backend->kill(f->w);
    replace_folder(f);
    now = world_snapshot(f->w);
    ic = ic_open_share(&options, NULL);
    g_assert_nonnull(ic);
    g_assert_true(ic_discard(ic, NULL));
    ic_close(ic);
    world_assert_equal(f->w, now);
    /* Its copy may be the only one. */
    g_assert_true(f->w->backend->log_elsewhere || edits_is_set_aside(f, "old"));
    g_assert_true(world_start(f->w));
    g_assert_cmpuint(world_history_count(f->w), ==, 0);
    edits_client_step(f, "file", "of the step");
    edits_undone(f);
    world_assert_equal(f->w, now);
}

static void closed(struct edits *f)
{
    g_autoptr(GPtrArray) now = NULL;

    world_step(f->w);
    change(f);
    world_end_step(f->w);
    f->w->backend->stop(f->w);
    replace_folder(f);
    now = world_snapshot(f->w);
    g_assert_true(world_start(f->w));
    assert_refused(f, "rollback");
    assert_refused(f, "preview");
    g_assert_cmpuint(world_history_count(f->w), ==, 1);
    /* Steps of this folder can be undone as always, until the foreign one is
     * reached. */
    edits_client_step(f, "file", "of the step");
    edits_undone(f);
    world_assert_equal(f->w, now);
    assert_refused(f, "rollback");
    f->w->backend->stop(f->w);
    bring_back(f);
    g_assert_true(world_start(f->w));
    edits_undone(f);
    world_assert_equal(f->w, f->before);
}

static void undone(struct edits *f)
{
    g_autoptr(GPtrArray) changed = NULL;

    world_step(f->w);
    change(f);
    world_end_step(f->w);
    changed = world_snapshot(f->w);
    edits_undone(f);
    f->w->backend->stop(f->w);
    replace_folder(f);
    g_assert_true(world_start(f->w));
    assert_refused(f, "redo");
    f->w->backend->stop(f->w);
    bring_back(f);
    g_assert_true(world_start(f->w));
    json_decref(world_redo(f->w, 1));
    world_assert_equal(f->w, changed);
    edits_undone(f);
    world_assert_equal(f->w, f->before);
}

/* A folder that is gone has left a step above those of this folder. */
static void stranger(struct edits *f)
{
    json_t *answer, *first;

    world_step(f->w);
    change(f);
    world_end_step(f->w);
    f->w->backend->stop(f->w);
    replace_folder(f);
    g_assert_true(world_start(f->w));
    edits_client_step(f, "file", "of the stranger");
    f->w->backend->stop(f->w);
    bring_back(f);
    g_assert_true(world_start(f->w));
    world_refused(f->w, "rollback", edits_undo_payload(false),
                  ERROR_INVALID_DIRECTORY);
    world_refused(f->w, "preview", edits_undo_payload(false),
                  ERROR_INVALID_DIRECTORY);
    json_decref(world_request(f->w, "preview", edits_undo_payload(true)));
    answer = world_request(f->w, "rollback",
                           json_pack("{s:i, s:b}", "steps", 2, "force", 1));
    first = json_array_get(json_object_get(answer, "steps"), 0);
    g_assert_true(json_is_true(json_object_get(first, "other_folder")));
    g_assert_null(json_object_get(first, "damaged"));
    g_assert_true(edits_warns(answer, "was skipped (it changed another"));
    json_decref(answer);
    world_assert_equal(f->w, f->before);
    g_assert_cmpuint(world_history_count(f->w), ==, 0);
}

static void stranger_unfinished(struct edits *f)
{
    const struct ic_options options = { .share = f->w->share,
                                        .undo_dir = f->w->undo_dir,
                                        .keep_unfinished = true };
    g_autoptr(GPtrArray) changed = NULL;
    g_autoptr(GError) error = NULL;
    struct ic *ic;

    world_step(f->w);
    change(f);
    world_end_step(f->w);
    changed = world_snapshot(f->w);
    f->w->backend->stop(f->w);
    replace_folder(f);
    g_assert_true(world_start(f->w));
    world_step(f->w);
    edits_client_put(f, "file", 0, "of the stranger");
    f->w->backend->kill(f->w);
    bring_back(f);
    ic = ic_open_share(&options, NULL);
    g_assert_nonnull(ic);
    g_assert_false(ic_rollback(ic, 1, false, NULL, &error));
    g_assert_nonnull(strstr(error->message, "stepback undo --force"));
    g_assert_true(ic_rollback(ic, 1, true, NULL, NULL));
    ic_close(ic);
    world_assert_equal(f->w, changed);
    g_assert_true(world_start(f->w));
    edits_undone(f);
    world_assert_equal(f->w, f->before);
}

static const struct edits_case cases[] = {
    { "other-folder/unfinished", unfinished },
    { "other-folder/unfinished-unused", unfinished_unused },
    { "other-folder/unfinished-ambient", unfinished_ambient },
    { "other-folder/unfinished-given-up", unfinished_given_up },
    { "other-folder/undo-is-refused", closed },
    { "other-folder/redo-is-refused", undone },
    { "other-folder/force-skips-foreign-step", stranger },
    { "other-folder/stranger-unfinished", stranger_unfinished },
};

void add_other_folder_tests(void)
{
    edits_add_cases(cases, G_N_ELEMENTS(cases));
}
