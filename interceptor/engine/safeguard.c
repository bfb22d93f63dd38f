/* SPDX-License-Identifier: Apache-2.0
 *
 * safeguard - see safeguard.h: decisions and their consequences.
 */
#include "interceptor/engine/safeguard.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "common/errors.h"
#include "common/log.h"
#include "interceptor/engine/core.h"
#include "interceptor/engine/parking.h"
#include "interceptor/engine/stale.h"
#include "interceptor/sys/fail.h"
#include "interceptor/sys/thread.h"

static void decision_free(struct safeguard_decision *decision)
{
    if (!decision)
        return;
    json_decref(decision->payload);
    g_free(decision->id);
    g_free(decision);
}

void safeguard_init(struct safeguard *guard, safeguard_roll_back *roll_back)
{
    pthread_condattr_t attr;

    guard->roll_back = roll_back;
    pthread_mutex_init(&guard->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&guard->cond, &attr);
    pthread_condattr_destroy(&attr);
    guard->rules.overwrite_file_size_threshold = -1;
    guard->rules.timeout_ms = SAFEGUARD_TIMEOUT_MS;
    guard->samples = g_ptr_array_new_with_free_func(g_free);
}

void safeguard_clear(struct safeguard *guard)
{
    pthread_mutex_lock(&guard->lock);
    guard->stop = true;
    pthread_cond_signal(&guard->cond);
    pthread_mutex_unlock(&guard->lock);
    if (guard->thread_runs)
        pthread_join(guard->thread, NULL);
    decision_free(guard->pending);
    ic_step_info_free(guard->taken);
    g_clear_error(&guard->failure);
    g_free(guard->denial);
    g_ptr_array_unref(guard->samples);
    g_free(guard->deleting);
    pthread_cond_destroy(&guard->cond);
    pthread_mutex_destroy(&guard->lock);
}

/* ---- asking -------------------------------------------------------------- */

static json_t *timeout_to_json(unsigned timeout_ms)
{
    return timeout_ms % 1000 == 0 ? json_integer(timeout_ms / 1000)
                                  : json_real(timeout_ms / 1000.0);
}

int safeguard_ask_locked(struct ic *ic, enum safeguard_rule rule,
                         json_t *payload)
{
    struct safeguard *guard = &ic->guard;
    struct safeguard_decision *decision = g_new0(struct safeguard_decision, 1);

    /* More than a number: an answer to an earlier process's question must not
     * be taken for one to this process's. Step ids are never reused. */
    decision->step_id = ic->wal.step->id;
    decision->id = g_strdup_printf("sg_%" PRId64 "_%" PRIu64, decision->step_id,
                                   ++guard->last_number);
    decision->rule = rule;
    decision->timeout_ms = guard->rules.timeout_ms;
    decision->payload = payload;
    json_object_set_new(payload, "safeguard_id", json_string(decision->id));
    json_object_set_new(payload, "step_id", json_integer(decision->step_id));
    json_object_set_new(payload, "timeout_seconds",
                        timeout_to_json(decision->timeout_ms));
    guard->pending = decision;
    parking_begin_decision(&ic->parking);
    pthread_cond_signal(&guard->cond);
    return IC_PARKED;
}

json_t *safeguard_pending_to_json(struct ic *ic)
{
    struct safeguard *guard = &ic->guard;
    json_t *payload = NULL;

    pthread_mutex_lock(&guard->lock);
    if (guard->pending && guard->pending->announced)
        payload = json_deep_copy(guard->pending->payload);
    pthread_mutex_unlock(&guard->lock);
    return payload ? payload : json_null();
}

/* ---- deciding ------------------------------------------------------------ */

/* Decide the pending question, if it has this id (NULL: any). Returns the
 * decision, the caller's, or NULL. A denial lets the changes that waited fail,
 * and their step may be closed from then on: it is kept in denial, too, for
 * report_denial(). */
static struct safeguard_decision *decide(struct ic *ic, const char *id,
                                         bool allow, const char *reason)
{
    struct safeguard *guard = &ic->guard;
    struct safeguard_decision *decision;

    pthread_mutex_lock(&guard->lock);
    decision = guard->pending;
    if (decision && id && g_strcmp0(decision->id, id) != 0)
        decision = NULL;
    if (decision) {
        guard->pending = NULL;
        if (allow) {
            guard->allowed |= decision->rule;
        } else {
            guard->denied_id = decision->step_id;
            guard->rolled_back = false;
            g_free(guard->denial);
            guard->denial = reason ? g_strdup(decision->id) : NULL;
            guard->denial_reason = reason;
        }
        parking_end_decision(&ic->parking, allow);
        pthread_cond_signal(&guard->cond);
    }
    pthread_mutex_unlock(&guard->lock);
    return decision;
}

static void send_decided(struct ic *ic, const char *id, int64_t step_id,
                         bool allow, const char *reason)
{
    log_info(LOG_SAFEGUARD, "%s: %s (%s)", id, allow ? "allowed" : "denied",
             reason);
    events_send(ic->events, "event.safeguard_decided",
                json_pack("{s:s, s:I, s:s, s:s}", "safeguard_id", id, "step_id",
                          (json_int_t)step_id, "action",
                          allow ? "allow" : "deny", "reason", reason));
}

/* Send the event of a denial, once: when its step was rolled back, and before
 * the step is closed, whichever thread gets to that first. A client that has
 * the answer of the step can rely on having had the event. */
static void report_denial(struct ic *ic, int64_t step_id)
{
    struct safeguard *guard = &ic->guard;
    g_autofree char *id = NULL;
    const char *reason;

    pthread_mutex_lock(&guard->lock);
    /* Another step may have been denied since, which is not rolled back yet. */
    if (guard->denied_id == step_id)
        id = g_steal_pointer(&guard->denial);
    reason = guard->denial_reason;
    pthread_mutex_unlock(&guard->lock);
    if (id)
        send_decided(ic, id, step_id, false, reason);
}

/* With the gate write-locked: roll back a denied step, once. */
static void roll_back_locked(struct ic *ic)
{
    struct safeguard *guard = &ic->guard;

    if (safeguard_denied_step(ic) == 0 || guard->rolled_back)
        return;
    guard->rolled_back = true;
    if (!guard->roll_back(ic, &guard->taken, &guard->failure))
        log_error(LOG_SAFEGUARD, "cannot roll back a denied step: %s",
                  guard->failure->message);
}

/* Carry out a denial that was given with the gate free. FALSE and error if the
 * step could not be rolled back. */
static gboolean carry_out_denial(struct ic *ic,
                                 const struct safeguard_decision *made,
                                 GError **error)
{
    struct safeguard *guard = &ic->guard;
    gboolean ok = TRUE;
    GArray *stale;

    watch_sync(ic->watch);
    pthread_rwlock_wrlock(&ic->gate);
    /* Its owner may have closed it meanwhile. */
    if (safeguard_denied_step(ic) == made->step_id) {
        roll_back_locked(ic);
        ok = guard->failure == NULL;
        if (!ok && error)
            *error = g_error_copy(guard->failure);
    }
    stale = stale_take(ic);
    pthread_rwlock_unlock(&ic->gate);
    stale_tell(ic, stale);
    report_denial(ic, made->step_id);
    return ok;
}

gboolean ic_safeguard_confirm(struct ic *ic, const char *safeguard_id,
                              bool allow, GError **error)
{
    struct safeguard_decision *made = decide(ic, safeguard_id, allow,
                                             "confirmed");
    gboolean ok = TRUE;

    if (!made) {
        g_set_error(error, STEPBACK_ERROR, ERROR_UNKNOWN_SAFEGUARD,
                    "no decision with this id is pending");
        return FALSE;
    }
    if (allow)
        send_decided(ic, made->id, made->step_id, true, "confirmed");
    else
        ok = carry_out_denial(ic, made, error);
    decision_free(made);
    return ok;
}

void safeguard_abandon_locked(struct ic *ic)
{
    struct safeguard_decision *made = decide(ic, NULL, false, "aborted");

    if (made)
        report_denial(ic, made->step_id);
    decision_free(made);
}

void safeguard_refuse(struct ic *ic)
{
    pthread_mutex_lock(&ic->guard.lock);
    ic->guard.refuses = true;
    pthread_mutex_unlock(&ic->guard.lock);
    decision_free(decide(ic, NULL, false, NULL));
}

/* ---- steps --------------------------------------------------------------- */

int64_t safeguard_denied_step(struct ic *ic)
{
    int64_t id;

    pthread_mutex_lock(&ic->guard.lock);
    id = ic->guard.denied_id;
    pthread_mutex_unlock(&ic->guard.lock);
    return id;
}

gboolean safeguard_check_none(struct ic *ic, GError **error)
{
    int64_t id = safeguard_denied_step(ic);

    if (id == 0)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_STEP_ACTIVE,
                "step %" PRId64 " was denied and is not closed yet", id);
    return FALSE;
}

gboolean safeguard_check_decided(struct ic *ic, GError **error)
{
    struct safeguard *guard = &ic->guard;
    gboolean decided;

    pthread_mutex_lock(&guard->lock);
    decided = guard->pending == NULL;
    if (!decided)
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "step %" PRId64
                    " waits for a decision (%s): confirm it, or abort the step",
                    guard->pending->step_id, guard->pending->id);
    pthread_mutex_unlock(&guard->lock);
    return decided;
}

gboolean safeguard_close_denied_locked(struct ic *ic,
                                       struct ic_step_info **ret_info,
                                       GError **error)
{
    struct safeguard *guard = &ic->guard;
    g_autoptr(GError) failure = NULL;
    struct ic_step_info *info;

    roll_back_locked(ic);
    report_denial(ic, safeguard_denied_step(ic));
    failure = g_steal_pointer(&guard->failure);
    info = g_steal_pointer(&guard->taken);
    pthread_mutex_lock(&guard->lock);
    guard->denied_id = 0;
    pthread_mutex_unlock(&guard->lock);
    parking_end_denied(&ic->parking);
    if (failure) {
        g_propagate_error(error, g_steal_pointer(&failure));
        return FALSE;
    }
    info->denied = true;
    info->undoable = false;
    info->ended_us = g_get_real_time();
    if (ret_info)
        *ret_info = info;
    else
        ic_step_info_free(info);
    return TRUE;
}

/* ---- the thread ---------------------------------------------------------- */

/* The clock of cond; the engine's is coarser, and waiting for it would spin. */
static int64_t now_ms(void)
{
    return g_get_monotonic_time() / 1000;
}

/* G1. With lock held, which is released meanwhile. */
static void announce_locked(struct ic *ic)
{
    struct safeguard *guard = &ic->guard;
    uint64_t number = guard->last_number;
    json_t *payload;

    pthread_mutex_unlock(&guard->lock);
    pthread_rwlock_wrlock(&ic->gate);
    pthread_rwlock_unlock(&ic->gate);
    pthread_mutex_lock(&guard->lock);
    if (!guard->pending || guard->last_number != number)
        return;
    guard->pending->announced = true;
    guard->pending->deadline_ms = now_ms() + guard->pending->timeout_ms;
    log_info(LOG_SAFEGUARD, "%s: a decision is pending", guard->pending->id);
    payload = json_deep_copy(guard->pending->payload);
    pthread_mutex_unlock(&guard->lock);
    events_send(ic->events, "event.safeguard_triggered", payload);
    pthread_mutex_lock(&guard->lock);
}

static void wait_until_locked(struct safeguard *guard, int64_t deadline_ms)
{
    struct timespec until = { .tv_sec = deadline_ms / 1000,
                              .tv_nsec = deadline_ms % 1000 * 1000000 };

    pthread_cond_timedwait(&guard->cond, &guard->lock, &until);
}

/* With lock held, which is released meanwhile. */
static void time_out_locked(struct ic *ic)
{
    struct safeguard *guard = &ic->guard;
    g_autofree char *id = g_strdup(guard->pending->id);
    struct safeguard_decision *made;

    pthread_mutex_unlock(&guard->lock);
    made = decide(ic, id, false, "timeout");
    if (made) {
        log_warn(LOG_SAFEGUARD, "%s: no answer in time: denied", id);
        carry_out_denial(ic, made, NULL);
    }
    decision_free(made);
    pthread_mutex_lock(&guard->lock);
}

static void *run_thread(void *data)
{
    struct ic *ic = data;
    struct safeguard *guard = &ic->guard;

    pthread_mutex_lock(&guard->lock);
    while (!guard->stop) {
        if (!guard->pending)
            pthread_cond_wait(&guard->cond, &guard->lock);
        else if (!guard->pending->announced)
            announce_locked(ic);
        else if (now_ms() < guard->pending->deadline_ms)
            wait_until_locked(guard, guard->pending->deadline_ms);
        else
            time_out_locked(ic);
    }
    pthread_mutex_unlock(&guard->lock);
    return NULL;
}

/* ---- rules --------------------------------------------------------------- */

static unsigned armed_rules(const struct ic_safeguard_rules *rules)
{
    return (rules->delete_threshold > 0 ? SAFEGUARD_DELETE : 0u) |
           (rules->overwrite_file_size_threshold >= 0 ? SAFEGUARD_OVERWRITE
                                                      : 0u) |
           (rules->rename_over_existing ? SAFEGUARD_RENAME : 0u);
}

gboolean ic_safeguard_configure(struct ic *ic,
                                const struct ic_safeguard_rules *rules,
                                GError **error)
{
    struct safeguard *guard = &ic->guard;
    int rc = 0;

    if (!core_check_log(ic, error))
        return FALSE;
    pthread_mutex_lock(&guard->lock);
    if (!guard->thread_runs && armed_rules(rules)) {
        rc = -thread_start(&guard->thread, "undo-guard", run_thread, ic);
        guard->thread_runs = rc == 0;
    }
    if (rc == 0) {
        guard->rules = *rules;
        if (rules->timeout_ms == 0)
            guard->rules.timeout_ms = SAFEGUARD_TIMEOUT_MS;
        atomic_store(&guard->armed, armed_rules(rules));
    }
    pthread_mutex_unlock(&guard->lock);
    return rc == 0 ||
           fail_errno(error, ERROR_INTERNAL, "starting the safeguards", rc);
}

void ic_safeguard_get_rules(struct ic *ic, struct ic_safeguard_rules *ret_rules)
{
    pthread_mutex_lock(&ic->guard.lock);
    *ret_rules = ic->guard.rules;
    pthread_mutex_unlock(&ic->guard.lock);
}
