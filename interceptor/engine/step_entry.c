/* SPDX-License-Identifier: Apache-2.0
 *
 * step_entry - ic_step_open() and ic_step_close() (ic_steps.h).
 *
 * All functions named *_locked need the gate write-locked.
 */
#include "common/errors.h"
#include "interceptor/engine/ambient.h"
#include "interceptor/engine/ambient_rest.h"
#include "interceptor/engine/limits.h"
#include "interceptor/engine/safeguard.h"
#include "interceptor/engine/stale.h"
#include "interceptor/engine/steps.h"
#include "interceptor/engine/steps_check.h"
#include "interceptor/sys/clock.h"
#include "interceptor/sys/fail.h"

enum { WRITERS_WAIT_MS = 200 };

/* The client closes a file some 100 us after its last write. */
#define SETTLE_POLL_US 200

/* The log is unusable: the step only gets an id. */
static void begin_unkept(struct ic *ic, int64_t id, enum ic_step_type type,
                         const char *command)
{
    ic->wal.step = step_new(id, 0, type, command, ic->root->ino);
    ic->last_id = id;
}

static gboolean open_locked(struct ic *ic, int64_t id, enum ic_step_type type,
                            const char *command, GError **error)
{
    int rc;

    if (!steps_check_none(ic, error))
        return FALSE;
    if (type != IC_STEP_COMMAND && type != IC_STEP_API) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "a step's type must be command or api; ambient "
                            "steps open by themselves");
        return FALSE;
    }
    if (id <= steps_last_id(ic)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "step ids must rise: %" G_GINT64_FORMAT
                    " was used already; the next is %" G_GINT64_FORMAT,
                    id, steps_last_id(ic) + 1);
        return FALSE;
    }
    if (id > STEP_MAX_NUMBER) { /* it could not be read back */
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "a step's id must be at most %" G_GINT64_FORMAT,
                    (gint64)STEP_MAX_NUMBER);
        return FALSE;
    }
    if (!steps_check_finished(ic, error))
        return FALSE;
    if (!ic->log) {
        begin_unkept(ic, id, type, command);
        return TRUE;
    }
    if (!ambient_close_locked(ic, error))
        return FALSE;
    ambient_forget(ic);
    do
        rc = steps_begin(ic, id, type, command);
    while (limits_make_room_locked(ic, rc));
    return rc == 0 || fail_errno(error, ERROR_IO_ERROR, "opening a step", rc);
}

gboolean ic_step_open(struct ic *ic, int64_t id, enum ic_step_type type,
                      const char *command, GError **error)
{
    gboolean ok;

    /* Earlier edits must precede the step, and its command see them. */
    stale_flush(ic);
    watch_sync_client(ic->watch);
    if (!ic->watch)
        stale_wait(ic);
    pthread_rwlock_wrlock(&ic->gate);
    ok = (ic->closed_log || core_check_log(ic, error)) &&
         open_locked(ic, id, type, command, error);
    if (ok)
        open_writes_begin_step(&ic->open_writes);
    pthread_rwlock_unlock(&ic->gate);
    return ok;
}

/* Late writes arrive after a command has ended (of a child that is still
 * running): wait for a while without changes. Return the rest of that wait. */
static int64_t quiet_left_ms(struct ic *ic, int64_t start, unsigned quiet_ms,
                             unsigned max_ms)
{
    int64_t now = clock_ms();
    int64_t idle = now - MAX(atomic_load(&ic->last_change_ms), start);

    return MIN((int64_t)quiet_ms - idle, start + (int64_t)max_ms - now);
}

static void wait_quiet(struct ic *ic, unsigned quiet_ms, unsigned max_ms)
{
    int64_t start = clock_ms(), left;

    while ((left = quiet_left_ms(ic, start, quiet_ms, max_ms)) > 0)
        g_usleep((gulong)left * 1000);
}

uint32_t ic_write_opened(struct ic *ic)
{
    return open_writes_add(&ic->open_writes);
}

void ic_write_closed(struct ic *ic, uint32_t span)
{
    open_writes_remove(&ic->open_writes, span);
}

void ic_step_settle(struct ic *ic, unsigned quiet_ms, unsigned max_ms)
{
    uint32_t span = open_writes_end_step(&ic->open_writes);
    int64_t start = clock_ms();

    while (open_writes_count(&ic->open_writes, span) > 0 &&
           quiet_left_ms(ic, start, quiet_ms, max_ms) > 0)
        g_usleep(SETTLE_POLL_US);
    if (quiet_ms > 0 && max_ms > 0)
        writers_wait(ic->writers, WRITERS_WAIT_MS);
}

/* With the gate locked: check whether step id can be closed. */
static gboolean check_closable(struct ic *ic, int64_t id, GError **error)
{
    if (id > 0 && safeguard_denied_step(ic) == id)
        return TRUE;
    return steps_check_open(ic, id, error) &&
           safeguard_check_decided(ic, error);
}

static gboolean close_locked(struct ic *ic, int64_t id, int exit_code,
                             struct ic_step_info **ret_info, GError **error)
{
    if (!check_closable(ic, id, error))
        return FALSE;
    if (safeguard_denied_step(ic) == 0)
        return steps_commit_locked(ic, exit_code, ret_info, error);
    if (!safeguard_close_denied_locked(ic, ret_info, error))
        return FALSE;
    if (ret_info)
        (*ret_info)->exit_code = exit_code;
    return TRUE;
}

gboolean ic_step_close(struct ic *ic, int64_t id, int exit_code,
                       unsigned quiet_ms, unsigned max_ms,
                       struct ic_step_info **ret_info, GError **error)
{
    GArray *stale;
    gboolean ok;

    pthread_rwlock_rdlock(&ic->gate);
    ok = (ic->closed_log || core_check_log(ic, error)) &&
         check_closable(ic, id, error);
    pthread_rwlock_unlock(&ic->gate);
    if (!ok)
        return FALSE;
    if (quiet_ms > 0)
        stale_flush(ic);
    wait_quiet(ic, quiet_ms, max_ms);
    if (quiet_ms > 0 && max_ms > 0)
        writers_wait(ic->writers, WRITERS_WAIT_MS);
    pthread_rwlock_wrlock(&ic->gate);
    ok = close_locked(ic, id, exit_code, ret_info, error);
    stale = stale_take(ic); /* of a denied step */
    pthread_rwlock_unlock(&ic->gate);
    stale_tell(ic, stale);
    return ok;
}
