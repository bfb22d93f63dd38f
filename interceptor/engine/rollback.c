/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback - see rollback.h.
 *
 * All functions named *_locked need the gate write-locked.
 */
#include "interceptor/engine/rollback.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/engine/ambient.h"
#include "interceptor/engine/folder.h"
#include "interceptor/engine/outside.h"
#include "interceptor/engine/outside_note.h"
#include "interceptor/engine/redo.h"
#include "interceptor/engine/redo_stack.h"
#include "interceptor/engine/rollback_extent.h"
#include "interceptor/engine/rollback_gate.h"
#include "interceptor/engine/rollback_step.h"
#include "interceptor/engine/safeguard.h"
#include "interceptor/engine/steps.h"
#include "interceptor/engine/steps_check.h"
#include "interceptor/log/step_mark.h"
#include "interceptor/report/report.h"
#include "interceptor/report/verify.h"
#include "interceptor/restore/progress.h"
#include "interceptor/restore/restore.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/fail.h"
#include "interceptor/sys/sys.h"

/* The open step cannot be rolled back: commit it as unprotected. */
static gboolean close_unprotected_locked(struct ic *ic, int64_t id,
                                         GError **error)
{
    if (!steps_commit_locked(ic, -1, NULL, error))
        return FALSE;
    if (ic->log)
        rollback_set_unprotected(id, error);
    else
        core_check_log(ic, error);
    return FALSE;
}

/* The last chance to report what other processes have put into its folders. */
static void note_foreign(struct ic *ic)
{
    g_autoptr(survey_auto) survey = NULL;

    if (survey_make(ic->wal.step, ic->root->fd, false, &survey) == 0)
        outside_note_foreign(ic, survey, true);
}

gboolean rollback_open_step_locked(struct ic *ic,
                                   struct ic_step_info **ret_info,
                                   GError **error)
{
    gboolean ok;

    if (!ic->log || ic->wal.step->unprotected)
        return close_unprotected_locked(ic, ic->wal.step->id, error);
    note_foreign(ic);
    atomic_store(&ic->epoch, 0);
    capture_clear(&ic->wal);
    ok = rollback_undo_wal(ic, ret_info, error);
    ic->broken = ok ? 0 : -EIO;
    return ok;
}

static gboolean abort_locked(struct ic *ic, int64_t id, GError **error)
{
    if (id <= 0 || safeguard_denied_step(ic) != id) {
        if (!steps_check_open(ic, id, error))
            return FALSE;
        safeguard_abandon_locked(ic);
    }
    return safeguard_denied_step(ic)
               ? safeguard_close_denied_locked(ic, NULL, error)
               : rollback_open_step_locked(ic, NULL, error);
}

gboolean ic_step_abort(struct ic *ic, int64_t id, GError **error)
{
    gboolean ok;

    watch_sync(ic->watch); /* it may report work that must not be destroyed */
    rollback_lock_gate(ic);
    ok = (ic->closed_log || core_check_log(ic, error)) &&
         abort_locked(ic, id, error);
    rollback_unlock_gate(ic);
    return ok;
}

/* Report a skipped step: the user insisted after an error. Takes ownership of
 * info. */
static void tell_passed_by(struct ic *ic, struct ic_step_info *info,
                           const char *why, struct ic_rollback_result *result)
{
    char *text = g_strdup_printf(
        "step %" G_GINT64_FORMAT
        " cannot be undone and was skipped (%s): its changes stay; its saved "
        "content is in %s/damaged",
        info->id, why, ic->undo_dir);

    events_warn(ic->events, "%s", text);
    g_ptr_array_add(result->warnings, text);
    g_ptr_array_add(result->steps, info);
}

/* Skip an interrupted step of another folder. */
static gboolean pass_by_interrupted(struct ic *ic, struct step *step,
                                    bool force,
                                    struct ic_rollback_result *result,
                                    GError **error)
{
    g_autoptr(GError) cause = NULL;
    struct undo_log_name name;
    int rc;

    folder_check(ic, step, true, &cause);
    if (!force || !folder_may_pass_by(ic, step)) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    undo_log_release_reserve(ic->log); /* the disk may be full */
    rc = undo_log_set_aside_whole(ic->log, step->id, step->seq, &name);
    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    undo_log_take_reserve(ic->log);
    tell_passed_by(ic, folder_report(ic, step), "it changed another folder",
                   result);
    ic->broken = 0;
    return TRUE;
}

/* A rollback that an error (a full disk) stopped half-way is in
 * wal/in_progress, and changes are refused until it is finished. */
static gboolean finish_interrupted_locked(struct ic *ic, bool force,
                                          struct ic_rollback_result *result,
                                          GError **error)
{
    fd_auto int dir = undo_log_open_wal(ic->log);
    g_autoptr(step_auto) summary = NULL;
    struct ic_step_info *info = NULL;
    bool known = dir >= 0 && step_load_summary(dir, &summary) == 0;
    gboolean ok;

    if (known && !folder_is_of(ic, summary))
        return pass_by_interrupted(ic, summary, force, result, error);
    if (known && summary->inverse)
        ok = redo_finish(ic, summary, &info, error);
    else
        ok = rollback_undo_wal(ic, &info, error);
    if (!ok)
        return FALSE;
    if (info)
        g_ptr_array_add(result->steps, info);
    ic->broken = 0;
    return TRUE;
}

/* Return whether the error was found before anything was changed. */
static bool is_about_log(const GError *error)
{
    int code = error_code_of(error);

    return code == ERROR_PREIMAGE_MISSING || code == ERROR_PREIMAGE_CORRUPT;
}

/* If the error was found before anything was changed, the step stays as it was.
 */
static void put_back(struct ic *ic, int dir, const struct undo_log_entry *entry,
                     const GError *cause)
{
    bool untouched = is_about_log(cause) || error_code_of(cause) == ERROR_BUSY;

    if (untouched)
        step_unmark(dir, STEP_MARK_FORCED);
    if (!untouched || undo_log_commit(ic->log, entry) < 0)
        ic->broken = -EIO;
}

/* Nothing of the step in wal/in_progress can be undone, and the caller asked to
 * skip it. Takes ownership of info, its report. */
static gboolean pass_by(struct ic *ic, const struct undo_log_entry *entry,
                        const char *why, struct ic_step_info *info,
                        struct ic_rollback_result *result, GError **error)
{
    struct undo_log_name name;
    int rc;

    undo_log_release_reserve(ic->log); /* the disk may be full */
    rc = undo_log_set_aside(ic->log, entry->id, entry->seq, &name);
    undo_log_take_reserve(ic->log);
    if (rc < 0) {
        ic_step_info_free(info);
        if (undo_log_commit(ic->log, entry) < 0)
            ic->broken = -EIO;
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    }
    tell_passed_by(ic, info, why, result);
    return TRUE;
}

static int64_t newest_id(struct ic *ic)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);

    return count > 0 ? entries[count - 1].id : 0;
}

/* A rollback that a crash interrupts is finished in the mode in which it began.
 */
static int mark_forced(struct ic *ic, int dir, bool forced)
{
    return forced ? step_mark(dir, STEP_MARK_FORCED,
                              atomic_load(&ic->durable.power))
                  : step_unmark(dir, STEP_MARK_FORCED);
}

static gboolean pop_locked(struct ic *ic, bool force,
                           struct ic_rollback_result *result, GError **error)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);
    const struct undo_log_entry entry = entries[count - 1];
    fd_auto int dir = undo_log_open_step(ic->log, entry.id);
    bool goes_on = force || ic->outside_policy == IC_OUTSIDE_WARN;
    unsigned flags = (force ? RESTORE_DAMAGED : 0) |
                     (goes_on ? RESTORE_EDITED | RESTORE_FORCED | ROLLBACK_CROSS
                              : 0);
    g_autoptr(step_auto) step = NULL;
    g_autoptr(GError) cause = NULL;
    struct ic_step_info *info;
    bool stranger = false, edited = false;
    int rc;

    if (rollback_load_step(ic, dir, force, &step, &cause) &&
        !folder_check(ic, step, true, &cause))
        stranger = force && folder_may_pass_by(ic, step);
    if (cause && !stranger && !(force && is_about_log(cause))) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    if (!cause && !outside_check_step(ic, step, force, result, &edited, error))
        return FALSE;
    if (goes_on && edited)
        flags |= ROLLBACK_EDITED;
    rc = cause ? 0 : mark_forced(ic, dir, flags & ROLLBACK_EDITED);
    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    undo_log_begin_rollback(ic->log);
    rc = undo_log_reopen(ic->log, entry.id);
    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    if (!cause &&
        rollback_undo_step(ic, dir, step, flags, result, &info, &cause)) {
        g_ptr_array_add(result->steps, info);
        return TRUE;
    }
    if (stranger)
        return pass_by(ic, &entry, "it changed another folder",
                       folder_report(ic, step), result, error);
    if (force && is_about_log(cause))
        return pass_by(ic, &entry, cause->message, report_of_damaged(entry.id),
                       result, error);
    put_back(ic, dir, &entry, cause);
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

static void set_too_many(size_t count, GError **error)
{
    if (count == 0)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                            "there is nothing to undo");
    else
        g_set_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                    count == 1 ? "only %zu step can be undone"
                               : "only %zu steps can be undone",
                    count);
}

/* A step that cannot be rolled back blocks all older ones. */
static gboolean check_steps(struct ic *ic, unsigned steps, bool force,
                            GError **error)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);

    for (size_t i = 1; i <= MIN(steps, count); i++) {
        if (entries[count - i].unprotected) {
            rollback_set_unprotected(entries[count - i].id, error);
            if (i > 1)
                g_prefix_error(error,
                               "only %zu newer step%s can be undone: ", i - 1,
                               i == 2 ? "" : "s");
            return FALSE;
        }
        if (entries[count - i].damaged && !force) {
            g_set_error(error, STEPBACK_ERROR, ERROR_PREIMAGE_CORRUPT,
                        "cannot read the record of step %" G_GINT64_FORMAT
                        "; force undoes what is left of it, or skips it",
                        entries[count - i].id);
            return FALSE;
        }
    }
    return TRUE;
}

gboolean rollback_check_steps(struct ic *ic, unsigned steps, bool force,
                              GError **error)
{
    unsigned first = ic->broken ? 1 : 0;
    size_t count;

    if (steps == 0) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the number of steps must be at least 1");
        return FALSE;
    }
    if (!check_steps(ic, steps > first ? steps - first : 0, force, error))
        return FALSE;
    undo_log_entries(ic->log, &count);
    if (steps <= count + first)
        return TRUE;
    set_too_many(count + first, error);
    return FALSE;
}

/* Return whether the interrupted step that is finished first counts. */
static bool does_first_count(struct ic *ic, enum rollback_counts counts)
{
    fd_auto int dir = undo_log_open_wal(ic->log);
    g_autoptr(step_auto) step = NULL;

    return counts != ROLLBACK_COUNTS_COMMANDS || dir < 0 ||
           step_load_summary(dir, &step) < 0 || step->type != IC_STEP_AMBIENT;
}

/* Return how many steps to roll back, so that extent->steps of them count. */
static unsigned extend(struct ic *ic, const struct rollback_extent *extent)
{
    size_t count, counted, steps = 0;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);
    unsigned first = ic->broken ? 1 : 0;

    if (extent->steps == 0 || extent->steps > count + first)
        return extent->steps; /* none, or too many in any case */
    counted = first && does_first_count(ic, extent->counts);
    while (steps < count && counted < extent->steps)
        counted += rollback_does_count(&entries[count - ++steps],
                                       extent->counts);
    return (unsigned)steps + first;
}

gboolean rollback_count_steps(struct ic *ic,
                              const struct rollback_extent *extent,
                              unsigned *ret_steps, GError **error)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);

    if (!extent->down_to) {
        *ret_steps = extend(ic, extent);
        return TRUE;
    }
    for (size_t i = 0; i < count; i++) {
        if (entries[i].id == extent->down_to) {
            *ret_steps = (unsigned)(count - i) + (ic->broken ? 1 : 0);
            return TRUE;
        }
    }
    g_set_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                "step %" G_GINT64_FORMAT " is not in the history",
                extent->down_to);
    return FALSE;
}

static gboolean rollback_locked(struct ic *ic,
                                const struct rollback_extent *extent,
                                bool force, struct ic_rollback_result *result,
                                GError **error)
{
    unsigned first = ic->broken ? 1 : 0, steps;

    if (!steps_check_none(ic, error) || !ambient_close_locked(ic, error) ||
        !rollback_count_steps(ic, extent, &steps, error) ||
        !rollback_check_steps(ic, steps, force, error))
        return FALSE;
    if (steps > first &&
        !outside_check_barriers(ic, false, steps - first, force, result, error))
        return FALSE;
    /* The step whose rollback was interrupted is one of the requested ones: a
     * repeated request means that step. */
    if (first && !finish_interrupted_locked(ic, force, result, error))
        return FALSE;
    for (unsigned left = steps - first; left > 0; left--) {
        int64_t id = newest_id(ic);

        if (!pop_locked(ic, force, result, error)) {
            rollback_tell_part(result, steps, "undone", id, error);
            return FALSE;
        }
    }
    redo_stack_make_room(ic, result);
    return TRUE;
}

gboolean rollback_go(struct ic *ic, const struct rollback_extent *extent,
                     bool force, struct ic_rollback_result **ret_result,
                     GError **error)
{
    gboolean ok;

    *ret_result = outside_result_new();
    watch_sync(ic->watch);
    rollback_lock_gate(ic);
    packer_pause(ic->packer);
    ok = core_check_log(ic, error) &&
         rollback_locked(ic, extent, force, *ret_result, error);
    packer_resume(ic->packer);
    rollback_unlock_gate(ic);
    return ok;
}

gboolean ic_rollback_steps(struct ic *ic, unsigned steps, bool force,
                           struct ic_rollback_result **ret_result,
                           GError **error)
{
    const struct rollback_extent extent = { .steps = steps };

    return rollback_go(ic, &extent, force, ret_result, error);
}

gboolean ic_rollback_to(struct ic *ic, int64_t id, bool force,
                        struct ic_rollback_result **ret_result, GError **error)
{
    const struct rollback_extent extent = { .down_to = id };

    return rollback_go(ic, &extent, force, ret_result, error);
}

gboolean ic_rollback(struct ic *ic, unsigned steps, bool force,
                     GPtrArray **ret_infos, GError **error)
{
    struct ic_rollback_result *result;
    gboolean ok = ic_rollback_steps(ic, steps, force, &result, error);

    if (ok && ret_infos)
        *ret_infos = g_ptr_array_ref(result->steps);
    ic_rollback_result_free(result);
    return ok;
}
