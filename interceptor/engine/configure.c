/* SPDX-License-Identifier: Apache-2.0
 *
 * configure - see configure.h: ic_configure() and ic_discard().
 */
#include "interceptor/engine/configure.h"

#include <errno.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "interceptor/engine/ambient.h"
#include "interceptor/engine/limits.h"
#include "interceptor/engine/steps_check.h"
#include "interceptor/sys/fail.h"
#include "interceptor/sys/rights.h"
#include "interceptor/sys/sys.h"

gboolean ic_configure(struct ic *ic, const struct ic_limits *limits,
                      GError **error)
{
    gboolean ok;

    pthread_rwlock_wrlock(&ic->gate);
    ok = limits_set(ic, limits, error);
    ic->wal.limit = limits_of_step(ic);
    if (ok && ic->log)
        limits_apply_locked(ic);
    pthread_rwlock_unlock(&ic->gate);
    return ok;
}

void ic_set_mount_dev(struct ic *ic, dev_t dev)
{
    atomic_store(&ic->mount_dev, dev);
}

void ic_set_durability(struct ic *ic, enum ic_durability durability)
{
    if (durability == IC_DURABILITY_DEFAULT)
        return;
    pthread_rwlock_wrlock(&ic->gate);
    atomic_store(&ic->durable.power, durability == IC_DURABILITY_POWER);
    if (ic->log)
        undo_log_set_sync(ic->log, durability == IC_DURABILITY_POWER);
    pthread_rwlock_unlock(&ic->gate);
}

/* ---- versions ------------------------------------------------------------ */

void configure_use_log(struct ic *ic)
{
    struct undo_log *log = g_steal_pointer(&ic->closed_log);

    if (undo_log_dev(log) != ic->dev)
        log_warn(LOG_UNDO,
                 "undo log %s: on another filesystem than the folder; removed "
                 "files are copied, not moved%s",
                 ic->undo_dir,
                 rights_see_trusted() ? "" : ", without trusted.* attributes");
    undo_log_set_sync(log, atomic_load(&ic->durable.power));
    ic->log = log;
}

void configure_tell_version(struct ic *ic)
{
    g_autofree char *text = core_describe_version(ic);
    g_autofree char *message = g_utf8_make_valid(text, -1);
    g_autofree char *dir = g_utf8_make_valid(ic->undo_dir, -1);
    g_autofree char *supported = g_strdup_printf("%d", UNDO_LOG_FORMAT);

    log_warn(LOG_UNDO, "%s", message);
    events_send(ic->events, "event.undo_version_mismatch",
                json_pack("{s:s, s:s, s:s, s:s}", "found",
                          undo_log_other_version(ic->closed_log), "supported",
                          supported, "undo_dir", dir, "message", message));
}

/* ---- discarding ---------------------------------------------------------- */

static gboolean check_discard(struct ic *ic, GError **error)
{
    if (!ic->closed_log && !core_check_log(ic, error))
        return FALSE;
    return steps_check_none(ic, error) && ambient_close_locked(ic, error);
}

static void tell_given_up(struct ic *ic, const struct step *step)
{
    const char *staging = step ? step->staging : NULL;
    g_autofree char *text = NULL, *message = NULL;
    struct stat st;

    if (staging && sys_stat_name(ic->root->fd, staging, &st) < 0)
        staging = NULL;
    text = g_strdup_printf(
        "step %" G_GINT64_FORMAT
        ", which was unfinished or half rolled back, was given up: the folder "
        "stays as it is; the saved content is in %s/damaged%s%s",
        step ? step->id : 0, ic->undo_dir,
        staging ? ", and files put aside are in the folder, in " : "",
        staging ? staging : "");
    message = g_utf8_make_valid(text, -1);
    log_warn(LOG_UNDO, "%s", message);
    events_send(ic->events, "event.warning",
                json_pack("{s:s, s:s}", "message", message, "code",
                          "rollback_given_up"));
}

/* It would have become a step, and is discarded like one. */
static bool is_ambient(const struct step *step)
{
    return step && step->type == IC_STEP_AMBIENT && !step->end &&
           !step->inverse;
}

/* Give up a step that did not end, or a rollback that stopped half-way. */
static int give_up(struct ic *ic)
{
    fd_auto int dir = undo_log_open_wal(ic->log);
    g_autoptr(step_auto) step = NULL;
    int rc;

    if (dir == -ENOENT)
        return undo_log_discard(ic->log);
    if (dir >= 0)
        step_load(dir, NULL, NULL, &step);
    undo_log_release_reserve(ic->log); /* the disk may be full */
    if (is_ambient(step)) {
        /* Discard the newest last: otherwise the older ones would lie below
         * changes without a record. */
        rc = undo_log_discard(ic->log);
        return rc < 0
                   ? rc
                   : undo_log_discard_wal(ic->log, step->id, step->seq, true);
    }
    rc = undo_log_give_up(ic->log, step ? step->id : 0, step ? step->seq : 0);
    if (rc == 0)
        tell_given_up(ic, step);
    return rc;
}

static int discard_any(struct ic *ic)
{
    int rc;

    if (!ic->log)
        return undo_log_discard(ic->closed_log);
    rc = ic->broken ? give_up(ic) : undo_log_discard(ic->log);
    if (rc == 0)
        ic->broken = 0;
    return rc;
}

static gboolean discard_locked(struct ic *ic, GError **error)
{
    int rc;

    if (!check_discard(ic, error))
        return FALSE;
    if (!ic->log)
        undo_log_use(ic->closed_log, ic->last_id, 0);
    rc = discard_any(ic);
    if (rc == -EEXIST) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "%s: contains files that may not belong to an undo log; "
                    "move the folder away",
                    ic->undo_dir);
        return FALSE;
    }
    if (rc < 0)
        return fail_errno(error, ERROR_IO_ERROR, "discarding the undo log", rc);
    if (!ic->log)
        configure_use_log(ic);
    undo_log_take_reserve(ic->log);
    log_info(LOG_UNDO, "the undo log was discarded");
    return TRUE;
}

gboolean ic_discard(struct ic *ic, GError **error)
{
    gboolean ok;

    pthread_rwlock_wrlock(&ic->gate);
    packer_pause(ic->packer);
    ok = discard_locked(ic, error);
    packer_resume(ic->packer);
    pthread_rwlock_unlock(&ic->gate);
    return ok;
}
