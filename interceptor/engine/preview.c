/* SPDX-License-Identifier: Apache-2.0
 *
 * preview - what a rollback would do (ic_preview()).
 *
 * The newest step is compared with the tree as it is now. The tree says nothing
 * about older ones below newer ones; so their end records are reversed, and
 * only the content in their logs is checked.
 */
#include <fcntl.h>

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/engine/ambient.h"
#include "interceptor/engine/folder.h"
#include "interceptor/engine/outside.h"
#include "interceptor/engine/rollback.h"
#include "interceptor/engine/rollback_gate.h"
#include "interceptor/engine/rollback_step.h"
#include "interceptor/engine/steps_check.h"
#include "interceptor/report/report.h"
#include "interceptor/report/survey.h"
#include "interceptor/restore/restore.h"
#include "interceptor/sys/sys.h"

/* Return the changes of the step that are still visible in the tree. */
static struct ic_step_info *describe_now(struct ic *ic, struct step *step,
                                         int dir)
{
    fd_auto int blobs = sys_openat(dir, STEP_BLOBS,
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    struct ic_step_info *noted = report_from_step(step), *info;
    g_autoptr(survey_auto) survey = NULL;

    if (blobs < 0 || survey_make(step, ic->root->fd, true, &survey) < 0)
        return noted;
    info = report_make(step, survey, blobs, true);
    info->exit_code = noted->exit_code;
    info->ended_us = noted->ended_us;
    info->undoable = noted->undoable;
    report_copy_by(info, noted);
    ic_step_info_free(noted);
    return info;
}

/* Return whether the log's error makes the step one to be skipped. */
static bool is_about_log(const GError *error)
{
    int code = error_code_of(error);

    return code == ERROR_PREIMAGE_MISSING || code == ERROR_PREIMAGE_CORRUPT;
}

/* For the newest step, also report what stays as it is with force. */
static gboolean check_newest(struct restore *restore, const struct step *step,
                             bool force, struct ic_rollback_result *result,
                             GError **error)
{
    g_autoptr(GError) cause = NULL;

    if (restore_check(restore, &cause)) {
        outside_warn_lost(result, step->id, restore);
        return TRUE;
    }
    if (force && is_about_log(cause))
        return TRUE; /* it would be skipped */
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

static gboolean check(struct ic *ic, struct step *step, int dir, bool force,
                      bool newest, struct ic_rollback_result *result,
                      GError **error)
{
    unsigned flags = RESTORE_DRY |
                     (force ? RESTORE_DAMAGED | RESTORE_EDITED | RESTORE_FORCED
                            : 0);
    g_autoptr(restore_auto) restore = restore_new(
        ic->log, step, dir, ic->root->fd, ic->log_links, flags, error);
    bool edited;

    if (!restore)
        return FALSE;
    if (!newest)
        return restore_check_log(restore, error);
    return outside_check_step(ic, step, force, result, &edited, error) &&
           check_newest(restore, step, force, result, error);
}

/* With force it may be skipped. */
static gboolean preview_stranger(struct ic *ic, struct step *step, bool force,
                                 struct ic_rollback_result *result,
                                 GError **error)
{
    g_ptr_array_add(result->steps, folder_report(ic, step));
    return (force && folder_may_pass_by(ic, step)) ||
           folder_check(ic, step, true, error);
}

static gboolean preview_step(struct ic *ic, int64_t id, bool force, bool newest,
                             struct ic_rollback_result *result, GError **error)
{
    fd_auto int dir = undo_log_open_step(ic->log, id);
    g_autoptr(step_auto) step = NULL;
    g_autoptr(GError) cause = NULL;
    struct ic_step_info *info;

    if (!rollback_load_step(ic, dir, force, &step, &cause)) {
        g_ptr_array_add(result->steps, report_of_damaged(id));
        if (force && error_code_of(cause) == ERROR_PREIMAGE_CORRUPT)
            return TRUE; /* it would be skipped */
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    if (!folder_is_of(ic, step))
        return preview_stranger(ic, step, force, result, error);
    info = newest ? describe_now(ic, step, dir) : report_from_step(step);
    report_turn_round(info);
    g_ptr_array_add(result->steps, info);
    return check(ic, step, dir, force, newest, result, error);
}

/* Preview what a rollback would finish first. */
static gboolean preview_unfinished(struct ic *ic, bool force,
                                   struct ic_rollback_result *result,
                                   GError **error)
{
    fd_auto int dir = undo_log_open_wal(ic->log);
    g_autoptr(step_auto) step = NULL;
    struct ic_step_info *info;

    if (!rollback_load_step(ic, dir, true, &step, error))
        return FALSE;
    if (!folder_is_of(ic, step))
        return preview_stranger(ic, step, force, result, error);
    if (step->inverse) {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "the redo of step %" G_GINT64_FORMAT
                    " was interrupted; the next undo or redo finishes it first",
                    step->id);
        return FALSE;
    }
    info = describe_now(ic, step, dir);
    info->undoable = true;
    report_turn_round(info);
    g_ptr_array_add(result->steps, info);
    return TRUE;
}

static gboolean preview_locked(struct ic *ic,
                               const struct rollback_extent *extent, bool force,
                               struct ic_rollback_result *result,
                               GError **error)
{
    unsigned first = ic->broken ? 1 : 0, steps;
    const struct undo_log_entry *entries;
    g_autoptr(GError) cause = NULL;
    size_t count;

    if (!steps_check_none(ic, error) || !ambient_close_locked(ic, error) ||
        !rollback_count_steps(ic, extent, &steps, error) ||
        !rollback_check_steps(ic, steps, force, error) ||
        (first && !preview_unfinished(ic, force, result, error)))
        return FALSE;
    steps -= first;
    entries = undo_log_entries(ic->log, &count);
    if (steps > 0)
        outside_check_barriers(ic, false, steps, force, result, &cause);
    /* Show all steps; report the first obstacle. */
    for (unsigned i = 1; i <= steps; i++)
        preview_step(ic, entries[count - i].id, force, i == 1 && !first, result,
                     cause ? NULL : &cause);
    if (!cause)
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

gboolean rollback_preview(struct ic *ic, const struct rollback_extent *extent,
                          bool force, struct ic_rollback_result **ret_result,
                          GError **error)
{
    gboolean ok;

    *ret_result = outside_result_new();
    watch_sync(ic->watch);
    rollback_lock_gate(ic);
    ok = core_check_log(ic, error) &&
         preview_locked(ic, extent, force, *ret_result, error);
    rollback_unlock_gate(ic);
    return ok;
}

gboolean ic_preview(struct ic *ic, unsigned steps, bool force,
                    struct ic_rollback_result **ret_result, GError **error)
{
    const struct rollback_extent extent = { .steps = steps };

    return rollback_preview(ic, &extent, force, ret_result, error);
}

gboolean ic_preview_to(struct ic *ic, int64_t id, bool force,
                       struct ic_rollback_result **ret_result, GError **error)
{
    const struct rollback_extent extent = { .down_to = id };

    return rollback_preview(ic, &extent, force, ret_result, error);
}
