/* SPDX-License-Identifier: Apache-2.0
 *
 * steps - see steps.h.
 *
 * All functions named *_locked need the gate write-locked.
 */
#include "interceptor/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/report.h"
#include "interceptor/restore.h"
#include "interceptor/sys.h"

static gboolean fail(GError **error, int code, const char *what, int rc)
{
    g_set_error(error, STEPBACK_ERROR, code, "%s: %s", what, g_strerror(-rc));
    return FALSE;
}

/* ---- the open step ------------------------------------------------------- */

static void wal_clear(struct wal *wal)
{
    g_clear_pointer(&wal->step, step_free);
    fd_close(&wal->blobs);
    fd_close(&wal->dir);
}

int steps_begin(struct ic *ic, int64_t id, enum ic_step_type type,
                const char *command)
{
    struct wal *wal = &ic->wal;
    int rc = undo_log_create_wal(ic->log, &wal->dir);

    if (rc < 0)
        return rc;
    wal->step = step_new(id, undo_log_next_seq(ic->log), type, command,
                         ic->root->ino);
    wal->inodes = ic->inodes;
    wal->held = ic->held;
    wal->last_blob = 0;
    wal->epoch = ++ic->last_epoch;
    wal->blobs = sys_openat(wal->dir, STEP_BLOBS, O_RDONLY | O_DIRECTORY, 0);
    rc = wal->blobs < 0 ? wal->blobs
                        : step_create_manifest(wal->step, wal->dir);
    if (rc < 0) {
        int64_t seq = wal->step->seq;

        wal_clear(wal);
        undo_log_discard_wal(ic->log, id, seq, false);
        return rc;
    }
    atomic_store(&ic->epoch, wal->epoch);
    return 0;
}

/* Nothing was changed: the step leaves no trace but its id. */
static gboolean drop_empty_locked(struct ic *ic, GError **error)
{
    int64_t id = ic->wal.step->id, seq = ic->wal.step->seq;
    int rc;

    wal_clear(&ic->wal);
    rc = undo_log_discard_wal(ic->log, id, seq, false);
    return rc == 0 || fail(error, ERROR_IO_ERROR, "undo log", rc);
}

static struct ic_step_info *make_info(struct ic *ic, int exit_code,
                                      bool *ret_nothing)
{
    struct step *step = ic->wal.step;
    g_autoptr(survey_auto) survey = NULL;
    struct ic_step_info *info;
    int rc = survey_make(step, ic->root->fd, &survey);

    *ret_nothing = step->records == 0;
    if (rc == 0) {
        info = report_make(step, survey, ic->wal.blobs);
        *ret_nothing |= report_is_nothing(step, survey, info);
        info->undoable = !*ret_nothing;
    } else {
        log_warn(LOG_UNDO,
                 "step %" G_GINT64_FORMAT ": cannot tell what it changed: %s",
                 step->id, g_strerror(-rc));
        info = report_from_step(step);
    }
    info->exit_code = exit_code;
    info->ended_us = g_get_real_time();
    return info;
}

static gboolean commit_locked(struct ic *ic, int exit_code,
                              struct ic_step_info **ret_info, GError **error)
{
    struct step *step = ic->wal.step;
    bool nothing;
    struct ic_step_info *info = make_info(ic, exit_code, &nothing);
    gboolean ok = TRUE;
    int rc;

    atomic_store(&ic->epoch, 0);
    if (nothing) {
        ok = drop_empty_locked(ic, error);
    } else {
        int64_t id = step->id, seq = step->seq;

        rc = journal_append(step->journal, report_to_end_record(info));
        if (rc == 0)
            rc = undo_log_commit(ic->log, id, seq);
        if (rc < 0) {
            /* Still open, and so still undone if we end here. */
            atomic_store(&ic->epoch, ic->wal.epoch);
            ok = fail(error, ERROR_IO_ERROR, "committing the step", rc);
        } else {
            log_info(LOG_UNDO, "step %" G_GINT64_FORMAT " committed: %zu paths",
                     id, info->affected);
            wal_clear(&ic->wal);
        }
    }
    if (ok && ret_info)
        *ret_info = info;
    else
        ic_step_info_free(info);
    return ok;
}

static bool is_ambient(const struct ic *ic)
{
    return ic->wal.step && ic->wal.step->type == IC_STEP_AMBIENT;
}

static gboolean close_ambient_locked(struct ic *ic, GError **error)
{
    return !is_ambient(ic) || commit_locked(ic, -1, NULL, error);
}

void steps_close_quiet_ambient(struct ic *ic)
{
    g_autoptr(GError) error = NULL;

    pthread_rwlock_wrlock(&ic->gate);
    if (engine_now_ms() - atomic_load(&ic->last_change_ms) >=
            (int64_t)ic->ambient_ms &&
        !close_ambient_locked(ic, &error))
        log_error(LOG_UNDO, "%s", error->message);
    pthread_rwlock_unlock(&ic->gate);
}

void steps_close_at_exit(struct ic *ic)
{
    g_autoptr(GError) error = NULL;

    if (!close_ambient_locked(ic, &error))
        log_error(LOG_UNDO, "%s", error->message);
    wal_clear(&ic->wal);
}

/* ---- open and close ------------------------------------------------------ */

static gboolean check_log(struct ic *ic, GError **error)
{
    if (ic->log)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                "%s is served without an undo log", ic->share);
    return FALSE;
}

static gboolean check_open_step(struct ic *ic, int64_t id, GError **error)
{
    if (ic->wal.step && !is_ambient(ic) && ic->wal.step->id == id)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "step %" G_GINT64_FORMAT " is not open", id);
    return FALSE;
}

static gboolean check_no_step(struct ic *ic, GError **error)
{
    if (!ic->wal.step || is_ambient(ic))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_STEP_ACTIVE,
                "step %" G_GINT64_FORMAT " is open; wait until it is complete",
                ic->wal.step->id);
    return FALSE;
}

static gboolean open_locked(struct ic *ic, int64_t id, enum ic_step_type type,
                            const char *command, GError **error)
{
    int rc;

    if (!check_no_step(ic, error))
        return FALSE;
    if (id <= undo_log_last_id(ic->log)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "step ids rise: %" G_GINT64_FORMAT
                    " was used already, the next is %" G_GINT64_FORMAT,
                    id, undo_log_last_id(ic->log) + 1);
        return FALSE;
    }
    if (id > STEP_MAX_NUMBER) { /* it could not be read back */
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "a step's id is at most %" G_GINT64_FORMAT,
                    (gint64)STEP_MAX_NUMBER);
        return FALSE;
    }
    if (ic->broken)
        return fail(error, ERROR_IO_ERROR,
                    "a rollback is unfinished; roll back again to finish it",
                    ic->broken);
    if (!close_ambient_locked(ic, error))
        return FALSE;
    rc = steps_begin(ic, id, type, command);
    return rc == 0 || fail(error, ERROR_IO_ERROR, "opening a step", rc);
}

gboolean ic_step_open(struct ic *ic, int64_t id, enum ic_step_type type,
                      const char *command, GError **error)
{
    gboolean ok;

    if (!check_log(ic, error))
        return FALSE;
    pthread_rwlock_wrlock(&ic->gate);
    ok = open_locked(ic, id, type, command, error);
    pthread_rwlock_unlock(&ic->gate);
    return ok;
}

/* Late writes arrive after a command has ended (a flush on close, a child that
 * is still exiting): wait until there were none for a while. */
static void wait_quiet(struct ic *ic, unsigned quiet_ms, unsigned max_ms)
{
    int64_t start = engine_now_ms(), now = start;

    while (now - start < (int64_t)max_ms) {
        int64_t idle = now - MAX(atomic_load(&ic->last_change_ms), start);
        int64_t left = (int64_t)quiet_ms - idle;

        if (left <= 0)
            return;
        g_usleep((gulong)MIN(left, start + (int64_t)max_ms - now) * 1000);
        now = engine_now_ms();
    }
}

gboolean ic_step_close(struct ic *ic, int64_t id, int exit_code,
                       unsigned quiet_ms, unsigned max_ms,
                       struct ic_step_info **ret_info, GError **error)
{
    gboolean ok;

    if (!check_log(ic, error))
        return FALSE;
    pthread_rwlock_rdlock(&ic->gate);
    ok = check_open_step(ic, id, error);
    pthread_rwlock_unlock(&ic->gate);
    if (!ok)
        return FALSE;
    wait_quiet(ic, quiet_ms, max_ms);
    pthread_rwlock_wrlock(&ic->gate);
    ok = check_open_step(ic, id, error) &&
         commit_locked(ic, exit_code, ret_info, error);
    pthread_rwlock_unlock(&ic->gate);
    return ok;
}

/* ---- taking back --------------------------------------------------------- */

/* What a step did: as it was committed, or what is to be seen of one that was
 * not. */
static struct ic_step_info *describe(struct ic *ic, struct step *step, int dir)
{
    fd_auto int blobs = sys_openat(dir, STEP_BLOBS, O_RDONLY | O_DIRECTORY, 0);
    g_autoptr(survey_auto) survey = NULL;

    if (step->end || blobs < 0 || survey_make(step, ic->root->fd, &survey) < 0)
        return report_from_step(step);
    return report_make(step, survey, blobs);
}

/* Take back the step in wal/in_progress and remove it. ret_info (may be NULL):
 * what the step had done. damaged_too: also if its record has bad lines; what
 * they say is then not restored. */
static gboolean undo_wal(struct ic *ic, bool damaged_too,
                         struct ic_step_info **ret_info, GError **error)
{
    fd_auto int dir = undo_log_open_wal(ic->log);
    g_autoptr(step_auto) step = NULL;
    struct ic_step_info *info;
    fd_auto int blobs = -1;
    int rc = dir < 0 ? dir : step_load(dir, undo_log_alias, ic->log, &step);

    if (rc < 0)
        return fail(error, ERROR_PREIMAGE_CORRUPT,
                    "the record of the step cannot be read", rc);
    if (step->damaged && !damaged_too) {
        g_set_error(error, STEPBACK_ERROR, ERROR_PREIMAGE_CORRUPT,
                    "the record of step %" G_GINT64_FORMAT
                    " is damaged; with force, what is left of it is undone",
                    step->id);
        return FALSE;
    }
    if (step->damaged)
        log_warn(LOG_UNDO,
                 "step %" G_GINT64_FORMAT
                 ": its record is damaged; not everything may be restored",
                 step->id);
    info = describe(ic, step, dir);
    undo_log_release_reserve(ic->log);
    if (!restore_step(ic->log, step, dir, ic->root->fd, ic->held, error)) {
        ic_step_info_free(info);
        return FALSE;
    }
    blobs = sys_openat(dir, STEP_BLOBS, O_RDONLY | O_DIRECTORY, 0);
    if (blobs >= 0)
        held_links_change_all(ic->held, blobs, -1);
    rc = undo_log_discard_wal(ic->log, step->id, step->seq, true);
    if (rc < 0) {
        ic_step_info_free(info);
        return fail(error, ERROR_IO_ERROR, "undo log", rc);
    }
    undo_log_take_reserve(ic->log);
    log_info(LOG_UNDO, "step %" G_GINT64_FORMAT " taken back", step->id);
    if (ret_info)
        *ret_info = info;
    else
        ic_step_info_free(info);
    return TRUE;
}

gboolean ic_step_abort(struct ic *ic, int64_t id, GError **error)
{
    gboolean ok;

    if (!check_log(ic, error))
        return FALSE;
    pthread_rwlock_wrlock(&ic->gate);
    ok = check_open_step(ic, id, error);
    if (ok) {
        atomic_store(&ic->epoch, 0);
        wal_clear(&ic->wal);
        ok = undo_wal(ic, true, NULL, error);
        ic->broken = ok ? 0 : -EIO;
    }
    pthread_rwlock_unlock(&ic->gate);
    return ok;
}

/* A rollback that an error stopped half-way (a full disk) is in
 * wal/in_progress, and changes are refused until it is finished. */
static gboolean finish_interrupted_locked(struct ic *ic, GPtrArray *infos,
                                          GError **error)
{
    struct ic_step_info *info;

    if (!undo_wal(ic, true, &info, error))
        return FALSE;
    g_ptr_array_add(infos, info);
    ic->broken = 0;
    return TRUE;
}

static gboolean pop_locked(struct ic *ic, bool force, GPtrArray *infos,
                           GError **error)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);
    int64_t id = entries[count - 1].id, seq = entries[count - 1].seq;
    g_autoptr(GError) cause = NULL;
    struct ic_step_info *info;
    int rc = undo_log_reopen(ic->log, id);

    if (rc < 0)
        return fail(error, ERROR_IO_ERROR, "undo log", rc);
    if (undo_wal(ic, force, &info, &cause)) {
        g_ptr_array_add(infos, info);
        return TRUE;
    }
    /* Found wrong before anything was changed: the step stays what it was. */
    if (g_error_matches(cause, STEPBACK_ERROR, ERROR_PREIMAGE_MISSING) ||
        g_error_matches(cause, STEPBACK_ERROR, ERROR_PREIMAGE_CORRUPT)) {
        rc = undo_log_commit(ic->log, id, seq);
        if (rc < 0)
            ic->broken = -EIO;
    } else {
        ic->broken = -EIO;
    }
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

static gboolean rollback_locked(struct ic *ic, unsigned steps, bool force,
                                GPtrArray *infos, GError **error)
{
    unsigned first = ic->broken ? 1 : 0;
    size_t count;

    if (!check_no_step(ic, error) || !close_ambient_locked(ic, error))
        return FALSE;
    undo_log_entries(ic->log, &count);
    if (steps == 0 || steps > count + first) {
        set_too_many(count + first, error);
        return FALSE;
    }
    /* The step whose rollback did not come to its end is one of those asked
     * for: who tries again means that one. */
    if (first && !finish_interrupted_locked(ic, infos, error))
        return FALSE;
    for (steps -= first; steps > 0; steps--) {
        if (!pop_locked(ic, force, infos, error))
            return FALSE;
    }
    return TRUE;
}

static void free_info(gpointer info)
{
    ic_step_info_free(info);
}

gboolean ic_rollback(struct ic *ic, unsigned steps, bool force,
                     GPtrArray **ret_infos, GError **error)
{
    g_autoptr(GPtrArray) infos = g_ptr_array_new_with_free_func(free_info);
    gboolean ok;

    if (!check_log(ic, error))
        return FALSE;
    pthread_rwlock_wrlock(&ic->gate);
    ok = rollback_locked(ic, steps, force, infos, error);
    pthread_rwlock_unlock(&ic->gate);
    if (ok && ret_infos)
        *ret_infos = g_steal_pointer(&infos);
    return ok;
}

bool steps_recover(struct ic *ic, GError **error)
{
    fd_auto int dir = undo_log_open_wal(ic->log);
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);
    g_autoptr(step_auto) step = NULL;
    int rc;

    for (size_t i = 0; i < count; i++) {
        fd_auto int folder = undo_log_open_step(ic->log, entries[i].id);
        fd_auto int blobs = sys_openat(folder, STEP_BLOBS,
                                       O_RDONLY | O_DIRECTORY, 0);

        if (blobs >= 0)
            held_links_change_all(ic->held, blobs, 1);
    }
    if (dir < 0)
        return dir == -ENOENT || fail(error, ERROR_IO_ERROR, "undo log", dir);
    rc = step_load_summary(dir, &step);
    /* Killed before the step's first line was whole: nothing was changed. */
    if (rc == -ENOENT || rc == -ENODATA) {
        rc = undo_log_discard_wal(ic->log, 0, 0, false);
        return rc == 0 || fail(error, ERROR_IO_ERROR, "undo log", rc);
    }
    return undo_wal(ic, true, &ic->recovered, error);
}

/* ---- history ------------------------------------------------------------- */

GPtrArray *ic_history(struct ic *ic, unsigned limit, GError **error)
{
    g_autoptr(GPtrArray) infos = g_ptr_array_new_with_free_func(free_info);
    const struct undo_log_entry *entries;
    size_t count;

    if (!check_log(ic, error))
        return NULL;
    pthread_rwlock_wrlock(&ic->gate);
    entries = undo_log_entries(ic->log, &count);
    for (size_t i = count; i > 0 && infos->len < limit; i--) {
        fd_auto int dir = undo_log_open_step(ic->log, entries[i - 1].id);
        g_autoptr(step_auto) step = NULL;

        if (dir >= 0 && step_load_summary(dir, &step) == 0)
            g_ptr_array_add(infos, report_from_step(step));
    }
    pthread_rwlock_unlock(&ic->gate);
    return g_steal_pointer(&infos);
}

int64_t ic_last_step_id(struct ic *ic)
{
    int64_t id;

    if (!ic->log)
        return 0;
    pthread_rwlock_wrlock(&ic->gate);
    id = undo_log_last_id(ic->log);
    if (ic->wal.step)
        id = MAX(id, ic->wal.step->id);
    pthread_rwlock_unlock(&ic->gate);
    return id;
}

struct ic_step_info *ic_recovered(struct ic *ic)
{
    return g_steal_pointer(&ic->recovered);
}
