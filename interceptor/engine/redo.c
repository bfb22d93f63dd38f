/* SPDX-License-Identifier: Apache-2.0
 *
 * redo - see redo.h.
 */
#include "interceptor/engine/redo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/engine/ambient.h"
#include "interceptor/engine/durable.h"
#include "interceptor/engine/folder.h"
#include "interceptor/engine/outside.h"
#include "interceptor/restore/places.h"
#include "interceptor/log/post_state.h"
#include "interceptor/log/step_mark.h"
#include "interceptor/restore/progress.h"
#include "interceptor/engine/redo_stack.h"
#include "interceptor/engine/redo_target.h"
#include "interceptor/engine/rollback_extent.h"
#include "interceptor/engine/rollback_gate.h"
#include "interceptor/engine/stale.h"
#include "interceptor/engine/steps_check.h"
#include "interceptor/report/report.h"
#include "interceptor/report/verify.h"
#include "interceptor/restore/restore_content.h"
#include "interceptor/restore/restore_edited.h"
#include "interceptor/engine/rollback_keep.h"
#include "interceptor/restore/stuck.h"
#include "interceptor/sys/fail.h"
#include "interceptor/sys/sys.h"

/* ---- redoing ------------------------------------------------------------- */

static int is_only_copy(int fd, const struct dirent *entry, void *opaque)
{
    return restore_is_orphan(entry->d_name) || restore_is_edited(entry->d_name);
}

/* wal/in_progress is finished. Content that could not be restored is kept, and
 * reported. */
static int finish(struct ic *ic, int64_t id)
{
    fd_auto int wal = undo_log_open_wal(ic->log);
    struct undo_log_name name;
    int rc = wal < 0 ? wal : sys_dir_each(wal, STEP_BLOBS, is_only_copy, NULL);

    if (rc == 0 || rc == -ENOENT)
        return undo_log_finish_redo(ic->log);
    rc = rc < 0 ? rc : undo_log_move_aside(ic->log, &name);
    if (rc == 0)
        events_warn(ic->events,
                    "step %" G_GINT64_FORMAT
                    ": not all content could be restored; the undo log's copy "
                    "is in %s/damaged/%s",
                    id, ic->undo_dir, name.text);
    return rc;
}

/* The step is in the tree again: put it back into the history. dir, step: of
 * its inverse. */
static int commit(struct ic *ic, int dir, struct step *step,
                  struct redo_target *target)
{
    fd_auto int blobs = sys_openat(dir, STEP_BLOBS, O_RDONLY | O_DIRECTORY, 0);
    struct undo_log_entry entry = {
        .id = step->id,
        .seq = target->seq,
        .moved = json_integer_value(json_object_get(step->end, "moved")),
        .unchanged = step_is_unchanged(step),
    };
    int rc = durable_sync_share(ic);

    if (rc < 0)
        return rc;
    rc = redo_add_post_state(ic, target);
    verify_note_undone(ic->log, step, ic->root->fd, blobs);
    if (rc == -ENOTRECOVERABLE)
        return -EIO;
    if (rc < 0) /* a full disk; outside edits of the step will go unnoticed */
        log_warn(LOG_UNDO, "redo: %s", g_strerror(-rc));
    rc = undo_log_commit_inverse(ic->log, &entry);
    if (rc == 0)
        packer_add(ic->packer, target->blobs, false);
    return rc < 0 ? rc : finish(ic, step->id);
}

/* Apply the inverse. target: complete, or none; then it is made, and
 * *ret_untouched says whether an error came before any change. result (may be
 * NULL): for its warnings. */
static gboolean run(struct ic *ic, struct step *step, int dir, unsigned flags,
                    struct redo_target *target,
                    struct ic_rollback_result *result, bool *ret_untouched,
                    GError **error)
{
    g_autoptr(restore_auto) restore = restore_new(
        ic->log, step, dir, ic->root->fd, ic->log_links, flags, error);
    struct progress progress;
    gboolean done;
    int rc = 0;

    *ret_untouched = target->dir < 0;
    if (!restore || !restore_check(restore, error))
        return FALSE;
    if (target->dir < 0) {
        fd_auto int blobs = sys_openat(dir, STEP_BLOBS,
                                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

        rc = blobs < 0 ? blobs : redo_make(ic, step, blobs, restore, 0, target);
        if (rc == 0)
            rc = durable_sync_share(ic); /* includes the inverse */
    } else {
        rc = rollback_keep_later(ic, step, dir, restore,
                                 step_is_marked(dir, STEP_MARK_FOREIGN) != 0);
    }
    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "redo", rc);
    *ret_untouched = false;
    redo_set_keep(restore, target);
    progress_start(&progress, ic->events, "redo", step->id, ic->progress_ms);
    restore_set_progress(restore, &progress);
    done = restore_run(restore, error);
    stale_gather(ic, step, restore_survey(restore));
    if (!done) {
        stuck_explain(step, ic->root->fd, restore_errno(restore), error);
        return FALSE;
    }
    progress_end(&progress);
    places_note_restored(ic->inodes, ic->dev, ic->root->fd, step);
    if (result)
        outside_warn_lost(result, step->id, restore);
    rc = commit(ic, dir, step, target);
    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    log_info(LOG_UNDO, "step %" G_GINT64_FORMAT " redone", step->id);
    return TRUE;
}

static gboolean load(struct ic *ic, int dir, struct step **ret_step,
                     GError **error)
{
    g_autoptr(step_auto) step = NULL;
    int rc = dir < 0 ? dir : step_load(dir, undo_log_alias, ic->log, &step);

    if (rc == 0 && (step->damaged || !step->end))
        rc = -EBADMSG;
    if (rc < 0)
        return fail_errno(error, rollback_record_code(rc),
                          "redo: cannot read the step's record", rc);
    post_state_mark_vacant(step);
    *ret_step = g_steal_pointer(&step);
    return TRUE;
}

gboolean redo_finish(struct ic *ic, const struct step *summary,
                     struct ic_step_info **ret_info, GError **error)
{
    struct redo_target target;
    bool untouched;
    gboolean ok = TRUE;
    int rc;

    *ret_info = NULL;
    if (undo_log_has(ic->log, summary->id)) {
        fd_auto int done = undo_log_open_step(ic->log, summary->id);
        g_autoptr(step_auto) step = NULL;

        rc = finish(ic, summary->id); /* everything else was done */
        if (rc < 0)
            return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
        if (done >= 0 && step_load_summary(done, &step) == 0)
            *ret_info = report_from_step(step);
        return TRUE;
    }
    undo_log_inherit(ic->log);
    rc = redo_find(ic, summary->id, &target);
    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    if (target.dir >= 0) {
        fd_auto int dir = undo_log_open_wal(ic->log);
        g_autoptr(step_auto) step = NULL;

        ok = load(ic, dir, &step, error) &&
             run(ic, step, dir, RESTORE_EDITED, &target, NULL, &untouched,
                 error);
        if (ok)
            *ret_info = report_from_step(step);
    } else {
        rc = undo_log_return_redo(ic->log, summary->seq); /* R1 */
        ok = rc == 0 || fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    }
    redo_close(&target);
    return ok;
}

static gboolean redo_newest(struct ic *ic, bool force,
                            struct ic_rollback_result *result, GError **error)
{
    struct redo_target target = REDO_TARGET_NONE;
    bool goes_on = force || ic->outside_policy == IC_OUTSIDE_WARN;
    size_t count;
    const int64_t *seqs = undo_log_redos(ic->log, &count);
    int64_t seq = seqs[count - 1];
    fd_auto int dir = undo_log_open_redo(ic->log, seq);
    g_autoptr(step_auto) step = NULL;
    bool untouched, edited;
    gboolean ok;
    int rc;

    if (!load(ic, dir, &step, error) || !folder_check(ic, step, false, error) ||
        !outside_check_step(ic, step, force, result, &edited, error))
        return FALSE;
    rc = undo_log_reopen_redo(ic->log, seq);
    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    ok = run(ic, step, dir, goes_on ? RESTORE_EDITED | RESTORE_FORCED : 0,
             &target, result, &untouched, error);
    redo_close(&target);
    if (ok)
        g_ptr_array_add(result->steps, report_from_step(step));
    else if (!untouched || undo_log_return_redo(ic->log, seq) < 0)
        ic->broken = -EIO;
    return ok;
}

/* Return the id of the step to redo next; 0: its record is bad. */
static int64_t next_id(struct ic *ic)
{
    size_t count;
    const int64_t *seqs = undo_log_redos(ic->log, &count);
    fd_auto int dir = count > 0 ? undo_log_open_redo(ic->log, seqs[count - 1])
                                : -1;
    g_autoptr(step_auto) step = NULL;

    return dir >= 0 && step_load_summary(dir, &step) == 0 ? step->id : 0;
}

static gboolean check_count(unsigned steps, size_t count, GError **error)
{
    if (steps == 0)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the number of steps must be at least 1");
    else if (steps > count)
        g_set_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_REDO,
                    count == 0 ? "there is nothing to redo"
                               : "only %zu can be redone",
                    count);
    return steps > 0 && steps <= count;
}

static gboolean redo_locked(struct ic *ic, const struct rollback_extent *extent,
                            bool force, struct ic_rollback_result *result,
                            GError **error)
{
    unsigned steps;
    size_t count;

    if (!steps_check_none(ic, error) || !ambient_close_locked(ic, error) ||
        !steps_check_finished(ic, error))
        return FALSE;
    steps = redo_stack_count(ic, extent);
    undo_log_redos(ic->log, &count);
    if (!check_count(steps, count, error))
        return FALSE;
    if (!outside_check_barriers(ic, true, steps, force, result, error))
        return FALSE;
    for (unsigned left = steps; left > 0; left--) {
        int64_t id = next_id(ic);

        if (!redo_newest(ic, force, result, error)) {
            rollback_tell_part(result, steps, "redone", id, error);
            return FALSE;
        }
    }
    return TRUE;
}

gboolean redo_go(struct ic *ic, const struct rollback_extent *extent,
                 bool force, struct ic_rollback_result **ret_result,
                 GError **error)
{
    gboolean ok;

    *ret_result = outside_result_new();
    if (!core_check_log(ic, error))
        return FALSE;
    watch_sync(ic->watch);
    rollback_lock_gate(ic);
    packer_pause(ic->packer);
    ok = redo_locked(ic, extent, force, *ret_result, error);
    packer_resume(ic->packer);
    rollback_unlock_gate(ic);
    return ok;
}

gboolean ic_redo(struct ic *ic, unsigned steps, bool force,
                 struct ic_rollback_result **ret_result, GError **error)
{
    const struct rollback_extent extent = { .steps = steps };

    return redo_go(ic, &extent, force, ret_result, error);
}
