/* SPDX-License-Identifier: Apache-2.0
 *
 * steps - see steps.h.
 *
 * All functions named *_locked need the gate write-locked.
 */
#include "interceptor/engine/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/engine/ambient_rest.h"
#include "interceptor/engine/durable.h"
#include "interceptor/engine/limits.h"
#include "interceptor/engine/outside_note.h"
#include "interceptor/log/post_state.h"
#include "interceptor/report/net_effect.h"
#include "interceptor/report/post_survey.h"
#include "interceptor/report/report.h"
#include "interceptor/report/verify.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/fail.h"
#include "interceptor/sys/sys.h"

static bool is_full(int rc)
{
    return rc == -ENOSPC || rc == -EDQUOT;
}

/* ---- the open step ------------------------------------------------------- */

static int begin(struct ic *ic, int64_t id, enum ic_step_type type,
                 const char *command)
{
    struct wal *wal = &ic->wal;
    int rc = undo_log_create_wal(ic->log, &wal->dir);

    if (rc < 0)
        return rc;
    wal->step = step_new(id, undo_log_next_seq(ic->log), type, command,
                         ic->root->ino);
    g_ptr_array_set_size(ic->unkept, 0);
    folder_mark_copy(&wal->step->folder, &ic->folder);
    wal->step->knows_created = true;
    if (writers_are_followed(ic->writers)) {
        wal->step->writers = ic->writers;
        wal->step->writers_table = writers_begin(ic->writers);
    }
    wal->inodes = ic->inodes;
    wal->root = ic->root->fd;
    wal->log_links = ic->log_links;
    wal->epoch = ++ic->last_epoch;
    wal->limit = limits_of_step(ic);
    wal->sync = atomic_load(&ic->durable.power);
    wal->blobs = sys_openat(wal->dir, STEP_BLOBS, O_RDONLY | O_DIRECTORY, 0);
    rc = wal->blobs < 0 ? wal->blobs
                        : step_create_manifest(wal->step, wal->dir);
    if (rc < 0) {
        capture_clear(wal);
        undo_log_remove_begun(ic->log);
        return rc;
    }
    atomic_store(&ic->epoch, wal->epoch);
    return 0;
}

int steps_begin(struct ic *ic, int64_t id, enum ic_step_type type,
                const char *command)
{
    int rc = begin(ic, id, type, command);

    /* On a full disk, use the reserve: a step that removes files is the way
     * out. */
    if (is_full(rc)) {
        undo_log_release_reserve(ic->log);
        rc = begin(ic, id, type, command);
    }
    undo_log_take_reserve(ic->log); /* as much of it as possible */
    return rc;
}

/* Nothing was changed: the step leaves only its id. */
static gboolean drop_empty_locked(struct ic *ic, GError **error)
{
    int64_t id = ic->wal.step->id, seq = ic->wal.step->seq;
    int rc;

    if (ic->wal.step->records > 0)
        verify_note_undone(ic->log, ic->wal.step, ic->root->fd, ic->wal.blobs);
    journal_trim(ic->wal.step->journal); /* a full disk may need that room */
    rc = undo_log_discard_wal(ic->log, id, seq, false);
    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "undo log", rc);
    capture_clear(&ic->wal);
    return TRUE;
}

/* *ret_survey is NULL if the step's changes cannot be determined. */
static struct ic_step_info *make_info(struct ic *ic, int exit_code,
                                      bool *ret_nothing,
                                      struct survey **ret_survey)
{
    struct step *step = ic->wal.step;
    g_autoptr(survey_auto) survey = NULL;
    struct ic_step_info *info;
    int rc = survey_make(step, ic->root->fd, true, &survey);

    *ret_nothing = step->records == 0;
    if (rc == 0) {
        info = report_make(step, survey, ic->wal.blobs, false);
        *ret_nothing |= !step->unprotected &&
                        report_is_nothing(step, survey, info);
        info->undoable = !*ret_nothing && !step->unprotected;
        info->unchanged = info->undoable &&
                          net_effect_is_none(step, survey, ic->wal.blobs,
                                             ic->root->fd);
    } else {
        log_warn(LOG_UNDO,
                 "step %" G_GINT64_FORMAT ": cannot determine its changes: %s",
                 step->id, g_strerror(-rc));
        info = report_from_step(step);
    }
    info->exit_code = exit_code;
    info->ended_us = g_get_real_time();
    *ret_survey = g_steal_pointer(&survey);
    return info;
}

/* Write the complete post state, or nothing of it. */
static int write_post(struct step *step, const struct survey *survey,
                      json_t *end)
{
    int64_t size = journal_size(step->journal);
    size_t count;
    int rc = post_survey_write(step, survey, &count);

    if (rc == 0)
        json_object_set_new(end, "post", json_integer((json_int_t)count));
    else
        journal_truncate(step->journal, size);
    return rc;
}

/* On a full disk, write the end record without the list of changes rather than
 * not at all. */
static int append_end(struct step *step, json_t *end)
{
    int rc = journal_append(step->journal, json_incref(end));

    if (is_full(rc)) {
        json_object_set_new(end, "changes", json_array());
        rc = journal_append(step->journal, json_incref(end));
    }
    json_decref(end);
    return rc;
}

/* Write the post state, then the end record. A step without a post state is
 * committed nevertheless: its undo will not notice outside edits. */
static int write_end(struct ic *ic, const struct survey *survey,
                     const struct ic_step_info *info, int64_t moved)
{
    struct step *step = ic->wal.step;
    json_t *end = report_to_end_record(info);
    int rc;

    json_object_set_new(end, "moved", json_integer((json_int_t)moved));
    if (!step->unprotected) {
        rc = survey ? write_post(step, survey, end) : -ENODATA;
        if (is_full(rc) && undo_log_release_reserve(ic->log))
            rc = write_post(step, survey, end);
        if (rc < 0)
            log_warn(LOG_UNDO,
                     "step %" G_GINT64_FORMAT
                     ": cannot record its end state: %s; outside edits will "
                     "not be noticed",
                     step->id, g_strerror(-rc));
    }
    return append_end(step, end);
}

/* Write the end record, and commit by the rename. */
static int write_commit(struct ic *ic, const struct survey *survey,
                        const struct ic_step_info *info)
{
    struct step *step = ic->wal.step;
    struct undo_log_entry entry = {
        .id = step->id,
        .seq = step->seq,
        .moved = ic->wal.moved,
        .unprotected = step->unprotected,
        .unchanged = info->unchanged,
    };
    int rc = capture_seal(&ic->wal);

    if (rc == 0)
        rc = durable_sync_share(ic);
    if (rc == 0)
        rc = write_end(ic, survey, info, entry.moved);
    if (rc == 0)
        journal_trim(step->journal);
    if (rc == 0)
        rc = durable_sync_step(ic);
    return rc < 0 ? rc : undo_log_commit(ic->log, &entry);
}

static void close_unkept(struct ic *ic, int exit_code,
                         struct ic_step_info **ret_info)
{
    struct ic_step_info *info = report_from_step(ic->wal.step);

    info->undoable = false;
    info->exit_code = exit_code;
    info->ended_us = g_get_real_time();
    capture_clear(&ic->wal);
    if (ret_info)
        *ret_info = info;
    else
        ic_step_info_free(info);
}

static bool may_try_again(struct ic *ic, int rc)
{
    return (is_full(rc) && undo_log_release_reserve(ic->log)) ||
           limits_make_room_locked(ic, rc);
}

gboolean steps_commit_locked(struct ic *ic, int exit_code,
                             struct ic_step_info **ret_info, GError **error)
{
    int64_t id = ic->wal.step->id;
    g_autoptr(survey_auto) survey = NULL;
    struct ic_step_info *info;
    gboolean ok = TRUE;
    int64_t size = 0;
    bool nothing;
    int rc;

    if (!ic->log) {
        close_unkept(ic, exit_code, ret_info);
        return TRUE;
    }
    info = make_info(ic, exit_code, &nothing, &survey);
    if (survey)
        outside_note_foreign(ic, survey, false);
    atomic_store(&ic->epoch, 0);
    if (nothing) {
        ok = drop_empty_locked(ic, error);
    } else {
        size = journal_size(ic->wal.step->journal);
        do
            rc = write_commit(ic, survey, info);
        while (may_try_again(ic, rc));
        if (rc < 0) {
            durable_forget(ic);
            ok = fail_errno(error, ERROR_IO_ERROR, "committing the step", rc);
        } else {
            log_info(LOG_UNDO,
                     "step %" G_GINT64_FORMAT " committed: %zu path%s", id,
                     info->affected, info->affected == 1 ? "" : "s");
            ambient_put_down(ic, info, size);
            limits_apply_locked(ic);
        }
    }
    undo_log_take_reserve(ic->log); /* if it was used */
    /* The step is still open, so the next start undoes it if the process ends
     * here. */
    if (!ok)
        atomic_store(&ic->epoch, ic->wal.epoch);
    if (ok && ret_info)
        *ret_info = info;
    else
        ic_step_info_free(info);
    return ok;
}

/* ---- open and close ------------------------------------------------------ */
