/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback_step - see rollback_step.h.
 */

#include <errno.h>
#include <fcntl.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/engine/durable.h"
#include "interceptor/engine/limits.h"
#include "interceptor/engine/outside.h"
#include "interceptor/engine/redo_target.h"
#include "interceptor/engine/rollback_extent.h"
#include "interceptor/engine/rollback_gate.h"
#include "interceptor/engine/rollback_keep.h"
#include "interceptor/engine/rollback_step.h"
#include "interceptor/engine/stale.h"
#include "interceptor/log/post_state.h"
#include "interceptor/log/step_mark.h"
#include "interceptor/report/report.h"
#include "interceptor/report/verify.h"
#include "interceptor/restore/places.h"
#include "interceptor/restore/progress.h"
#include "interceptor/restore/restore.h"
#include "interceptor/restore/stuck.h"
#include "interceptor/sys/fail.h"
#include "interceptor/sys/sys.h"

/* Return the report of a committed step, or the visible changes of another. */
static struct ic_step_info *describe(struct ic *ic, struct step *step, int dir)
{
    fd_auto int blobs = sys_openat(dir, STEP_BLOBS,
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    g_autoptr(survey_auto) survey = NULL;

    if (step->end || blobs < 0 ||
        survey_make(step, ic->root->fd, true, &survey) < 0)
        return report_from_step(step);
    return report_make(step, survey, blobs, false);
}

void rollback_set_unprotected(int64_t id, GError **error)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_STEP_UNPROTECTED,
                "step %" G_GINT64_FORMAT
                " exceeded the limit for saved content: it and older steps "
                "cannot be undone",
                id);
}

static gboolean load(struct ic *ic, int dir, bool damaged_too,
                     bool unprotected_too, struct step **ret_step,
                     GError **error)
{
    g_autoptr(step_auto) step = NULL;
    int rc = dir < 0 ? dir : step_load(dir, undo_log_alias, ic->log, &step);

    if (rc < 0)
        return fail_errno(error, rollback_record_code(rc),
                          "cannot read the step's record", rc);
    if (step->unprotected && !unprotected_too) {
        rollback_set_unprotected(step->id, error);
        return FALSE;
    }
    /* Committed, and truncated since. */
    if (!step->end && !damaged_too)
        step->damaged = true;
    if (step->damaged && !damaged_too) {
        g_set_error(error, STEPBACK_ERROR, ERROR_PREIMAGE_CORRUPT,
                    "the record of step %" G_GINT64_FORMAT
                    " is damaged; force undoes what is left of it",
                    step->id);
        return FALSE;
    }
    post_state_mark_vacant(step);
    if (step->damaged)
        log_warn(LOG_UNDO,
                 "step %" G_GINT64_FORMAT
                 ": its record is damaged; not everything may be restored",
                 step->id);
    *ret_step = g_steal_pointer(&step);
    return TRUE;
}

gboolean rollback_load_step(struct ic *ic, int dir, bool damaged_too,
                            struct step **ret_step, GError **error)
{
    return load(ic, dir, damaged_too, false, ret_step, error);
}

gboolean rollback_read_step(struct ic *ic, int dir, struct step **ret_step,
                            GError **error)
{
    return load(ic, dir, false, true, ret_step, error);
}

/* Everything is restored: record that, and remove the step. whole: its inverse
 * has other processes' work. */
static int discard_undone(struct ic *ic, int dir, struct step *step,
                          unsigned flags, bool whole,
                          const struct restore *restore,
                          struct ic_rollback_result *result)
{
    fd_auto int blobs = sys_openat(dir, STEP_BLOBS,
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    int rc = blobs < 0 && blobs != -ENOENT ? blobs : durable_sync_share(ic);

    if (rc < 0)
        return rc;
    verify_note_undone(ic->log, step, ic->root->fd, blobs);
    if (flags & ROLLBACK_CROSS)
        rc = outside_cross_barriers(ic, step, dir);
    if (rc < 0)
        return rc;
    /* A step with neither an inverse nor this mark is not being rolled back. */
    if (whole)
        rc = step_mark(dir, STEP_MARK_NO_REDO, atomic_load(&ic->durable.power));
    if (rc == 0 && whole)
        rc = undo_log_set_undone(ic->log);
    if (rc == 0 && whole)
        rc = redo_drop_all(ic); /* before the step is removed */
    if (rc < 0)
        return rc;
    if (whole || (blobs >= 0 && rollback_has_rest(blobs)))
        return rollback_keep_rest(ic, step, restore, result);
    return undo_log_discard_wal(ic->log, step->id, step->seq, true);
}

/* Return whether there is no room for what a redo needs, which may be a link of
 * a file with the maximum number of links. */
static bool is_full(int rc)
{
    return rc == -ENOSPC || rc == -EDQUOT || rc == -EMLINK;
}

static int forbid_redo(struct ic *ic, const struct step *step, int dir)
{
    bool sync = atomic_load(&ic->durable.power);

    return step->end ? step_mark(dir, STEP_MARK_NO_REDO, sync) : 0;
}

static int make_redo(struct ic *ic, struct step *step, int dir,
                     struct restore *restore, bool precious,
                     struct redo_target *target)
{
    fd_auto int blobs = sys_openat(dir, STEP_BLOBS,
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    int rc = blobs < 0 ? blobs
                       : redo_make(ic, step, blobs, restore,
                                   precious ? 0 : limits_of_redo(ic), target);

    if (rc < 0) /* R2 */
        log_info(LOG_UNDO,
                 "step %" G_GINT64_FORMAT ": its undo cannot be redone: %s",
                 step->id, g_strerror(-rc));
    return rc;
}

/* precious: inodes put aside must be kept; if only the redo can do that, there
 * is no rollback without one. */
static int prepare_redo(struct ic *ic, struct step *step, int dir,
                        unsigned flags, struct restore *restore, bool precious,
                        struct redo_target *target)
{
    /* of an interrupted rollback */
    int rc = redo_find(ic, step->id, target);
    int forbidden = step_is_marked(dir, STEP_MARK_NO_REDO);

    if (rc < 0 || forbidden < 0) {
        redo_close(target);
        return rc < 0 ? rc : forbidden;
    }
    if (restore_has_lost(restore) && !precious) {
        /* A partial restore cannot be redone. */
        redo_drop(ic, target);
    } else if (target->dir < 0 && step->end && !forbidden) {
        rc = make_redo(ic, step, dir, restore, precious, target);
    }
    if (target->dir < 0 && precious && flags & ROLLBACK_CROSS &&
        !restore_can_keep(restore))
        return rc < 0 ? rc : -ENOTRECOVERABLE;
    redo_set_keep(restore, target);
    return target->dir < 0 ? forbid_redo(ic, step, dir) : 0;
}

/* Return whether another process's work may be only in the redo. Where a name
 * found no room for its link, that work is still in the tree. */
static bool redo_has_work(unsigned flags, const struct restore *failed,
                          const struct redo_target *target,
                          const struct rollback_keep *keeping)
{
    if (target->dir < 0 || (keeping->keep < 0 && !(flags & ROLLBACK_EDITED)))
        return false;
    return restore_errno(failed) != -EMLINK || !restore_can_keep(failed) ||
           restore_has_begun_content(failed) || target->blobs < 0 ||
           rollback_has_rest(target->blobs);
}

/* Try again without what a redo needs: room, or the last inodes, which are
 * still in the trash if it could not be made. Whatever must be kept stays kept.
 */
static gboolean run_without_redo(struct ic *ic, struct step *step, int dir,
                                 unsigned flags, const struct restore *failed,
                                 struct redo_target *target, int blobs,
                                 struct rollback_keep *keeping)
{
    g_autoptr(restore_auto) restore = NULL;

    if (redo_has_work(flags, failed, target, keeping) ||
        forbid_redo(ic, step, dir) < 0)
        return FALSE;
    redo_drop(ic, target);
    /* The redos of newer steps have links as well. */
    if (restore_errno(failed) == -EMLINK && redo_drop_all(ic) < 0)
        return FALSE;
    undo_log_empty_trash(ic->log); /* a recovery has not begun with that */
    undo_log_drain_trash(ic->log);
    restore = restore_new(ic->log, step, dir, ic->root->fd, ic->log_links,
                          flags, NULL);
    return restore &&
           rollback_keep_prepare(ic, step, dir, flags, restore, target, blobs,
                                 keeping) == 0 &&
           restore_run(restore, NULL);
}

/* Warn if no redo was stored. Losses have a warning of their own. */
static void warn_no_redo(struct ic *ic, const struct step *step,
                         const struct restore *restore,
                         struct ic_rollback_result *result)
{
    size_t count;

    undo_log_redos(ic->log, &count);
    if (count > 0 || !step->end || restore_has_lost(restore))
        return;
    g_ptr_array_add(result->warnings,
                    g_strdup_printf("step %" G_GINT64_FORMAT
                                    " cannot be redone: the undo log could not "
                                    "keep its changes",
                                    step->id));
}

/* Without a redo of this step there can be none of newer ones. Drop these
 * first: after a kill in between, they would be redone without it. */
static int drop_redos(struct ic *ic, int dir, const struct step *step,
                      const struct restore *restore, struct redo_target *target)
{
    int rc;

    if (target->dir >= 0 && !restore_has_remade(restore))
        return 0;
    rc = forbid_redo(ic, step, dir);
    if (rc == 0 && target->dir >= 0)
        redo_drop(ic, target);
    return rc < 0 ? rc : redo_drop_all(ic);
}

static gboolean finish(struct ic *ic, int dir, struct step *step,
                       unsigned flags, const struct rollback_keep *keeping,
                       struct restore *restore, struct redo_target *target,
                       struct ic_rollback_result *result, GError **error)
{
    bool whole = rollback_keeps_redo(keeping, flags, restore, target);
    int rc = 0;

    places_note_restored(ic->inodes, ic->dev, ic->root->fd, step);
    if (result)
        outside_warn_lost(result, step->id, restore);
    if (!whole && (step->end || step->damaged))
        rc = drop_redos(ic, dir, step, restore, target);
    if (rc == 0)
        rc = discard_undone(ic, dir, step, flags, whole, restore, result);
    if (whole)
        redo_close(target); /* none remains: redo_keep() drops the others */
    if (rc == 0 && (step->end || step->damaged))
        redo_keep(ic, target, restore, keeping->precious);
    redo_close(target);
    if (rc == 0 && result && !whole)
        warn_no_redo(ic, step, restore, result);
    return rc == 0 || fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
}

static bool may_keep(struct ic *ic, const struct step *step,
                     const struct rollback_keep *keeping, int rc,
                     GError **error)
{
    if (rc == 0)
        return true;
    if (!keeping->precious)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                "step %" G_GINT64_FORMAT
                ": cannot save a copy in %s of another process's files in its "
                "place: %s; nothing was undone",
                step->id, ic->undo_dir, g_strerror(-rc));
    return false;
}

/* flags: RESTORE_*, ROLLBACK_*. result (may be NULL): for its warnings. */
static gboolean run(struct ic *ic, int dir, struct step *step, unsigned flags,
                    struct ic_rollback_result *result, GError **error)
{
    g_autoptr(restore_auto) restore = restore_new(
        ic->log, step, dir, ic->root->fd, ic->log_links, flags, error);
    fd_auto int blobs = sys_openat(dir, STEP_BLOBS,
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    g_autoptr(GError) cause = NULL;
    struct redo_target target;
    struct rollback_keep keeping = { .keep = -1 };
    struct progress progress;
    bool done;
    int rc;

    if (!restore || !restore_check(restore, error))
        return FALSE;
    keeping.marked = step_is_marked(dir, STEP_MARK_FOREIGN) != 0;
    keeping.precious = keeping.marked || flags & ROLLBACK_EDITED;
    rc = prepare_redo(ic, step, dir, flags, restore, keeping.precious, &target);
    if (!may_keep(ic, step, &keeping, rc, error))
        return FALSE;
    rc = rollback_keep_prepare(ic, step, dir, flags, restore, &target, blobs,
                               &keeping);
    if (rc < 0) {
        redo_close(&target);
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    }
    progress_start(&progress, ic->events, "rollback", step->id,
                   ic->progress_ms);
    restore_set_progress(restore, &progress);
    done = restore_run(restore, &cause) ||
           (is_full(restore_errno(restore)) &&
            run_without_redo(ic, step, dir, flags, restore, &target, blobs,
                             &keeping));
    stale_gather(ic, step, restore_survey(restore));
    if (!done) {
        redo_close(&target);
        stuck_explain(step, ic->root->fd, restore_errno(restore), &cause);
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    progress_end(&progress);
    return finish(ic, dir, step, flags, &keeping, restore, &target, result,
                  error);
}

gboolean rollback_undo_step(struct ic *ic, int dir, struct step *step,
                            unsigned flags, struct ic_rollback_result *result,
                            struct ic_step_info **ret_info, GError **error)
{
    struct ic_step_info *info = describe(ic, step, dir);

    undo_log_release_reserve(ic->log);
    if (!run(ic, dir, step, flags, result, error)) {
        ic_step_info_free(info);
        return FALSE;
    }
    undo_log_take_reserve(ic->log);
    log_info(LOG_UNDO, "step %" G_GINT64_FORMAT " rolled back", step->id);
    if (ret_info)
        *ret_info = info;
    else
        ic_step_info_free(info);
    return TRUE;
}

/* Decide how to finish the step in wal/in_progress. If the step had ended,
 * comparison shows what other processes have changed since, as long as nothing
 * is restored; then no clock is needed. */
static unsigned flags_of_interrupted(struct ic *ic, int dir, struct step *step)
{
    const unsigned forced = RESTORE_FORCED | ROLLBACK_CROSS | ROLLBACK_EDITED;
    bool sync = atomic_load(&ic->durable.power);
    g_autoptr(GPtrArray) paths = NULL;
    struct stat st;

    if (step_is_marked(dir, STEP_MARK_FORCED) == 1)
        return forced | ROLLBACK_RESUMED;
    /* A rollback that has begun has an inverse, or a mark that it has none. */
    if (!step->end || step->damaged || step->staging ||
        undo_log_has_inverse(ic->log) ||
        step_is_marked(dir, STEP_MARK_NO_REDO) != 0 ||
        sys_stat_name(dir, STEP_STAGING, &st) != -ENOENT)
        return 0;
    paths = verify_step(ic->log, step, ic->root->fd);
    if (!paths)
        return 0;
    if (paths->len == 0)
        return ROLLBACK_COMPARED;
    return step_mark(dir, STEP_MARK_FORCED, sync) == 0 ? forced : 0;
}

/* Everything is restored; an interrupted rollback had yet to put the step
 * aside. */
static gboolean put_undone_aside(struct ic *ic, int dir, struct step *step,
                                 struct ic_step_info **ret_info, GError **error)
{
    struct ic_step_info *info = describe(ic, step, dir);
    int rc;

    undo_log_release_reserve(ic->log);
    rc = redo_drop_all(ic);
    if (rc == 0)
        rc = rollback_keep_rest(ic, step, NULL, NULL);
    undo_log_take_reserve(ic->log);
    if (rc == 0 && ret_info)
        *ret_info = g_steal_pointer(&info);
    ic_step_info_free(info);
    return rc == 0 || fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
}

static gboolean undo_wal(struct ic *ic, int dir, struct step *step,
                         struct ic_step_info **ret_info, GError **error)
{
    int undone = undo_log_is_undone(dir);
    unsigned flags = RESTORE_DAMAGED | RESTORE_EDITED;

    if (undone < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", undone);
    if (undone)
        return put_undone_aside(ic, dir, step, ret_info, error);
    flags |= flags_of_interrupted(ic, dir, step);
    return rollback_undo_step(ic, dir, step, flags, NULL, ret_info, error);
}

gboolean rollback_undo_wal(struct ic *ic, struct ic_step_info **ret_info,
                           GError **error)
{
    fd_auto int dir = undo_log_open_wal(ic->log);
    g_autoptr(step_auto) step = NULL;
    g_autoptr(GError) cause = NULL;

    undo_log_inherit(ic->log);
    if (rollback_load_step(ic, dir, true, &step, &cause) &&
        undo_wal(ic, dir, step, ret_info, &cause))
        return TRUE;
    /* For a caller that opens a log, ERROR_BUSY means that another process has
     * it. */
    if (error_code_of(cause) == ERROR_BUSY)
        cause->code = ERROR_IO_ERROR;
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}
