/* SPDX-License-Identifier: Apache-2.0
 *
 * recover - finish what an earlier process left.
 *
 * A step in wal/in_progress is rolled back, except for an ambient one, which is
 * committed (recover_ambient.h). If a rollback is impossible, because the step
 * is unprotected or its record is damaged, the folder is in an intermediate
 * state, and older steps must not be rolled back over it: the step is committed
 * as an unprotected one.
 */
#include <errno.h>
#include <fcntl.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/engine/folder.h"
#include "interceptor/engine/recover.h"
#include "interceptor/engine/recover_ambient.h"
#include "interceptor/engine/redo.h"
#include "interceptor/engine/redo_target.h"
#include "interceptor/engine/rollback_step.h"
#include "interceptor/report/report.h"
#include "interceptor/sys/fail.h"
#include "interceptor/sys/sys.h"

/* ---- links --------------------------------------------------------------- */

/* A missing folder has no links. A folder that its owner (not root) cannot read
 * will stay unreadable. */
static void note_trouble(struct ic *ic, int rc)
{
    if (rc < 0 && !undo_log_is_damage(rc) && rc != -EACCES)
        ic->uncounted = rc;
}

static int count_links(int blobs, void *opaque)
{
    struct ic *ic = opaque;

    note_trouble(ic, log_links_change_all(ic->log_links, blobs, 1));
    return 0;
}

static int forget_link(int blobs, uint64_t ino, void *opaque)
{
    return log_links_change_kept(opaque, blobs, ino, -1);
}

static void count_folder(struct ic *ic, int folder)
{
    fd_auto int blobs = folder < 0
                            ? folder
                            : sys_openat(folder, STEP_BLOBS,
                                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
                                         0);

    if (blobs >= 0)
        count_links(blobs, ic);
    else
        note_trouble(ic, blobs);
}

/* Count every link in the log, including those about to be removed. Returns 0,
 * or -errno if some were not counted; a removed file would then seem to have
 * another name. */
static int count_all_links(struct ic *ic, int wal)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);

    for (size_t i = 0; i < count; i++) {
        fd_auto int folder = undo_log_open_step(ic->log, entries[i].id);

        count_folder(ic, folder);
    }
    count_folder(ic, wal);
    redo_each(ic, count_folder);
    note_trouble(ic, undo_log_each_trash(ic->log, count_links, ic));
    note_trouble(ic, undo_log_each_damaged(ic->log, count_links, ic));
    undo_log_on_forget(ic->log, forget_link, ic->log_links);
    return ic->uncounted;
}

/* ---- recovery ------------------------------------------------------------ */

static void send_recovery(struct ic *ic, const char *message)
{
    struct ic_step_info *info = ic->recovered;
    bool taken_back = !message;
    json_t *payload;

    info->undoable = false; /* no longer, or never */
    payload = report_to_json(info);
    json_object_set_new(payload, "taken_back", json_boolean(taken_back));
    json_object_set_new(
        payload, "restored_paths",
        json_integer(taken_back ? (json_int_t)info->affected : 0));
    if (message)
        json_object_set_new(payload, "message", json_string(message));
    events_send(ic->events, "event.recovery", payload);
}

/* Commit the step as unprotected: add the missing mark and end to its record.
 */
static int commit_unprotected(struct ic *ic, int dir, struct step *step)
{
    struct undo_log_entry entry = {
        .id = step->id,
        .seq = step->seq,
        .unprotected = true,
    };
    int rc = 0;

    undo_log_release_reserve(ic->log); /* the disk may be full */
    if (!step->journal)
        rc = journal_open(dir, STEP_MANIFEST, &step->journal);
    if (rc == 0 && !step->unprotected)
        rc = step_record_unprotected(step, 0);
    if (rc < 0)
        return rc;
    ic->recovered = report_from_step(step);
    ic->recovered->ended_us = g_get_real_time();
    rc = journal_append(step->journal, report_to_end_record(ic->recovered));
    return rc < 0 ? rc : undo_log_commit(ic->log, &entry);
}

/* The step was interrupted, and its changes stay. */
static bool keep_interrupted(struct ic *ic, int dir, struct step *step,
                             const char *reason, GError **error)
{
    g_autofree char *text = NULL;
    int rc = commit_unprotected(ic, dir, step);

    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    text = g_strdup_printf("step %" G_GINT64_FORMAT
                           " was interrupted and %s: its changes stay, and it "
                           "and older steps cannot be undone",
                           step->id, reason);
    events_warn(ic->events, "%s", text);
    send_recovery(ic, text);
    return true;
}

static bool keep_unprotected(struct ic *ic, int dir, GError **error)
{
    g_autoptr(step_auto) step = NULL;
    int rc = step_load(dir, NULL, NULL, &step);

    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    rc = undo_log_drop_blobs(ic->log, 0);
    if (rc < 0 && rc != -ENOENT) /* removed later with the step */
        log_warn(LOG_UNDO, "undo log: %s", g_strerror(-rc));
    return keep_interrupted(ic, dir, step, "exceeded the limit of one step",
                            error);
}

/* If not even the first line of a record is readable, replace it by a new
 * record that says so. */
static int replace_record(struct ic *ic, int dir, struct step **ret_step)
{
    g_autoptr(step_auto) step = step_new(undo_log_least_id(ic->log) - 1,
                                         undo_log_next_seq(ic->log),
                                         IC_STEP_AMBIENT, NULL, ic->root->ino);
    int rc;

    folder_mark_copy(&step->folder, &ic->folder);
    rc = sys_renameat2(dir, STEP_MANIFEST, dir, STEP_MANIFEST ".damaged", 0);
    if (rc == -ENOENT)
        rc = 0;
    if (rc == 0)
        rc = step_create_manifest(step, dir);
    if (rc == 0)
        *ret_step = g_steal_pointer(&step);
    return rc;
}

/* Keep everything that it saved: it may be the only copy. */
static bool keep_damaged(struct ic *ic, int dir, const GError *cause,
                         GError **error)
{
    g_autoptr(step_auto) step = NULL;
    g_autofree char *reason = NULL;
    int rc = step_load(dir, NULL, NULL, &step);

    if (rc == -EBADMSG || rc == -ENOENT)
        rc = replace_record(ic, dir, &step);
    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    reason = g_strdup_printf("cannot be rolled back (%s); its saved content is "
                             "in %s/steps/%" G_GINT64_FORMAT "/blobs",
                             cause->message, ic->undo_dir, step->id);
    return keep_interrupted(ic, dir, step, reason, error);
}

/* Return 1 if the process was killed before the step's first line was complete,
 * so that nothing was saved; 0 if not, or -errno if unknown. */
static int is_empty(int dir)
{
    int empty = sys_dir_is_empty(dir, STEP_BLOBS);

    return empty == -ENOENT ? 1 : empty;
}

/* Return 1 if the step's record cannot be loaded (rc, of step_load_summary())
 * because none was written; 0 if not, or -errno if unknown. */
static int is_unbegun(int dir, int rc)
{
    return rc == -ENOENT || rc == -ENODATA ? is_empty(dir) : 0;
}

/* A step of another folder that was killed before it changed anything blocks
 * nothing. */
static bool is_unused_elsewhere(struct ic *ic, int dir,
                                const struct step *summary)
{
    g_autoptr(step_auto) step = NULL;

    return !folder_is_of(ic, summary) && !summary->inverse &&
           is_empty(dir) == 1 && step_load(dir, NULL, NULL, &step) == 0 &&
           !step->damaged && step->records == 0;
}

static void tell_redone(struct ic *ic, const struct ic_step_info *info)
{
    json_t *payload = report_to_json(info);
    g_autofree char *text = g_strdup_printf(
        "the redo of step %" G_GINT64_FORMAT
        " was interrupted; it is finished now",
        info->id);

    log_warn(LOG_UNDO, "%s", text);
    json_object_set_new(payload, "code", json_string("redo_finished"));
    json_object_set_new(payload, "message", json_string(text));
    events_send(ic->events, "event.warning", payload);
}

static bool recover_redo(struct ic *ic, const struct step *inverse,
                         GError **error)
{
    struct ic_step_info *info;

    if (!redo_finish(ic, inverse, &info, error))
        return false;
    if (info)
        tell_redone(ic, info);
    ic_step_info_free(info);
    return true;
}

static bool recover_wal(struct ic *ic, int dir, GError **error)
{
    g_autoptr(step_auto) step = NULL;
    g_autoptr(GError) cause = NULL;
    bool kept = false;
    int rc = step_load_summary(dir, &step);
    int unbegun = is_unbegun(dir, rc);

    if (unbegun < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", unbegun);
    if (unbegun) {
        rc = undo_log_discard_wal(ic->log, 0, 0, false);
        return rc == 0 || fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    }
    /* The step is newer than everything in the log: its inverse must not get
     * the same seq, nor recreated inodes an earlier one (undo_log.h, "at"). */
    if (rc == 0)
        undo_log_use(ic->log, 0, step->seq);
    if (rc == 0 && is_unused_elsewhere(ic, dir, step)) {
        rc = undo_log_discard_wal(ic->log, step->id, step->seq, false);
        return rc == 0 || fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    }
    if (rc == 0 && !folder_check(ic, step, true, error))
        return false;
    if (rc == 0 && step->inverse)
        return recover_redo(ic, step, error);
    if (rc == 0 && !recover_keep_ambient(ic, dir, step, &kept, error))
        return false;
    if (kept)
        return true;
    if (rollback_undo_wal(ic, &ic->recovered, &cause)) {
        send_recovery(ic, NULL);
        return true;
    }
    switch (error_code_of(cause)) {
    case ERROR_STEP_UNPROTECTED:
        return keep_unprotected(ic, dir, error);
    case ERROR_PREIMAGE_MISSING:
    case ERROR_PREIMAGE_CORRUPT:
        return keep_damaged(ic, dir, cause, error);
    default:
        g_propagate_error(error, g_steal_pointer(&cause));
        return false;
    }
}

/* A rollback was complete except for storing its inverse. */
static bool recover_inverse(struct ic *ic, GError **error)
{
    struct redo_target target;
    int rc = redo_find(ic, 0, &target);

    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    if (target.dir < 0)
        return true;
    rc = undo_log_keep_inverse(ic->log, target.seq);
    if (rc < 0)
        log_warn(LOG_UNDO, "undo log: %s", g_strerror(-rc));
    redo_close(&target);
    return true;
}

bool recover_at_start(struct ic *ic, GError **error)
{
    fd_auto int dir = undo_log_open_wal(ic->log);
    int rc = count_all_links(ic, dir);
    bool ok = true;

    if (rc < 0)
        ok = fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    else if (dir >= 0)
        ok = recover_wal(ic, dir, error);
    else if (dir == -ENOENT)
        ok = recover_inverse(ic, error);
    else
        ok = fail_errno(error, ERROR_IO_ERROR, "undo log", dir);
    undo_log_empty_trash(ic->log);
    return ok;
}

/* ---- reporting ----------------------------------------------------------- */

static const char *describe_unfinished(const struct ic_step_info *info,
                                       bool redo)
{
    if (info->other_folder)
        return "a step of another folder did not end; it must be rolled back "
               "there";
    if (redo)
        return "a redo was interrupted; it must still be finished";
    if (info->type == IC_STEP_AMBIENT && !info->damaged)
        return "changes outside of steps were interrupted; they must still "
               "become a step";
    return "a step did not end; it must still be rolled back";
}

static void tell_unfinished(struct ic *ic, struct step *step)
{
    struct ic_step_info *info = step ? folder_report(ic, step)
                                     : report_of_damaged(0);
    json_t *payload = report_to_json(info);
    bool redo = step && step->inverse;

    json_object_set_new(payload, "code", json_string("step_unfinished"));
    json_object_set_new(payload, "message",
                        json_string(describe_unfinished(info, redo)));
    if (redo)
        json_object_set_new(payload, "redo", json_true());
    events_send(ic->events, "event.warning", payload);
    ic_step_info_free(info);
}

bool recover_leave_unfinished(struct ic *ic)
{
    fd_auto int dir = undo_log_open_wal(ic->log);
    g_autoptr(step_auto) step = NULL;
    int rc = dir < 0 ? dir : step_load_summary(dir, &step);

    if (dir < 0 || is_unbegun(dir, rc) == 1 ||
        (rc == 0 && is_unused_elsewhere(ic, dir, step)))
        return false;
    count_all_links(ic, dir);
    ic->broken = -EIO;
    tell_unfinished(ic, rc == 0 ? step : NULL);
    return true;
}
