/* SPDX-License-Identifier: Apache-2.0
 *
 * approval_ops - the operations "grant.*" and "approval.*" of the API; see
 * stdio_call.h.
 */
#include "agent/session/session_grants.h"
#include "agent/stdio/stdio_call.h"
#include "agent/wire/approval_json.h"

static gboolean request(const struct stdio_call *call, json_t *payload,
                        GError **error)
{
    g_autofree char *path = NULL;
    struct grant_request request;

    if (!grant_request_from_json(payload, &request, &path, error))
        return FALSE;
    session_grant_request(call->session, &request, stdio_call_on_answer,
                          stdio_call_keep(call));
    return TRUE;
}

static gboolean list(const struct stdio_call *call, json_t *payload,
                     GError **error)
{
    stdio_call_answer(call, approvals_to_json(call->session));
    return TRUE;
}

static gboolean decide(const struct stdio_call *call, json_t *payload,
                       GError **error)
{
    g_autofree char *path = NULL;
    struct approval_decision decision;

    if (!decision_from_json(payload, &decision, &path, error))
        return FALSE;
    session_approval_decide(call->session, &decision, stdio_call_on_answer,
                            stdio_call_keep(call));
    return TRUE;
}

const struct stdio_operation stdio_approval_operations[] = {
    { "grant.request",
      request,
      { "path", "access", "reason", "timeout_seconds" } },
    { "approval.list", list, { "" } },
    { "approval.decide",
      decide,
      { "id", "decision", "path", "access", "duration" } },
    { NULL, NULL, { NULL } },
};
