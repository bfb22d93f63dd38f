/* SPDX-License-Identifier: Apache-2.0
 *
 * session_approval - see session_approval.h.
 */
#include "agent/session/session_approval.h"

#include <string.h>

#include "agent/session/session_core.h"
#include "common/log.h"

void session_approval_free(struct approval *approval)
{
    g_clear_handle_id(&approval->timer, g_source_remove);
    if (approval->kind == APPROVAL_GRANT)
        grant_target_clear(&approval->target);
    g_free(approval->name);
    g_free(approval->id);
    g_free(approval->reason);
    g_free(approval);
}

GPtrArray *session_approval_new_list(void)
{
    return g_ptr_array_new_with_free_func(
        (GDestroyNotify)session_approval_free);
}

struct approval *session_approval_find(const struct session *session,
                                       const char *id)
{
    for (guint i = 0; i < session->approvals->len; i++) {
        struct approval *approval = g_ptr_array_index(session->approvals, i);

        if (strcmp(approval->id, id) == 0)
            return approval;
    }
    return NULL;
}

const GPtrArray *session_approvals(const struct session *session)
{
    return session->approvals;
}

static void tell(const struct approval *approval)
{
    const struct session_event event = { .type = SESSION_EVENT_APPROVAL,
                                         .approval = approval };

    session_send(approval->session, &event);
}

/* ---- time ---------------------------------------------------------------- */

static gboolean on_timeout(gpointer data)
{
    struct approval *approval = data;

    approval->timer = 0;
    session_approval_end(approval, APPROVAL_TIMED_OUT, NULL);
    return G_SOURCE_REMOVE;
}

void session_approval_hold(struct approval *approval, bool hold)
{
    gint64 rest = approval->deadline - g_get_monotonic_time();

    g_clear_handle_id(&approval->timer, g_source_remove);
    if (!hold)
        approval->timer = g_timeout_add((guint)(MAX(rest, 0) / 1000),
                                        on_timeout, approval);
}

/* ---- the queue ----------------------------------------------------------- */

gboolean session_approval_add(struct session *session,
                              struct approval *approval, GError **error)
{
    if (session->approvals->len == APPROVALS_MAX) {
        session_approval_free(approval);
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "%d requests wait for an answer; ask again when they are "
                    "decided",
                    APPROVALS_MAX);
        return FALSE;
    }
    approval->session = session;
    approval->id = g_strdup_printf("approval-%" G_GUINT64_FORMAT,
                                   ++session->approval_serial);
    approval->requested = g_get_real_time();
    approval->deadline = g_get_monotonic_time() +
                         approval->timeout_s * G_TIME_SPAN_SECOND;
    g_ptr_array_add(session->approvals, approval);
    session_approval_hold(approval, false);
    tell(approval);
    return TRUE;
}

static GError *error_of(const struct approval *approval)
{
    switch (approval->outcome) {
    case APPROVAL_PENDING:
    case APPROVAL_ALLOWED:
        break;
    case APPROVAL_DENIED:
        return g_error_new_literal(STEPBACK_ERROR, ERROR_DENIED,
                                   "the request was denied");
    case APPROVAL_TIMED_OUT:
        return g_error_new(STEPBACK_ERROR, ERROR_TIMEOUT,
                           "the request was not answered within %u s, and so "
                           "is denied",
                           approval->timeout_s);
    case APPROVAL_WITHDRAWN:
        return g_error_new_literal(STEPBACK_ERROR, ERROR_CANCELLED,
                                   "the request was withdrawn");
    }
    return NULL;
}

void session_approval_end(struct approval *approval,
                          enum approval_outcome outcome, struct reply *decider)
{
    GPtrArray *pending = approval->session->approvals;
    guint index = 0;
    const struct answer answer = { .approval = approval };
    g_autoptr(GError) error = NULL;

    approval->outcome = outcome;
    error = error_of(approval);
    /* A callback may look at the queue. */
    if (g_ptr_array_find(pending, approval, &index))
        g_ptr_array_steal_index(pending, index);
    log_info(LOG_SESSION, "%s: %s", approval->id,
             error ? error->message : "the request was allowed");
    tell(approval);
    reply_send(&approval->reply, error ? NULL : &answer, error);
    if (decider)
        reply_send(decider, &answer, NULL);
    session_approval_free(approval);
}
