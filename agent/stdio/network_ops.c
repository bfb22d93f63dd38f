/* SPDX-License-Identifier: Apache-2.0
 *
 * network_ops - the operations about the guest's network; see stdio_call.h.
 */
#include "agent/base/network_entry.h"
#include "agent/stdio/stdio_call.h"
#include "agent/wire/status_json.h"
#include "common/errors.h"

static json_t *describe_network(struct session *session)
{
    struct session_status status;
    json_t *all, *own;

    session_get_status(session, &status);
    all = session_to_json(&status);
    own = json_pack("{s:O*}", "network_policy",
                    json_object_get(all, "network_policy"));
    json_decref(all);
    return own;
}

static gboolean configure_network(const struct stdio_call *call,
                                  json_t *payload, GError **error)
{
    json_t *wanted = json_object_get(payload, "network_policy");
    json_t *before = json_object_get(payload, "expected");
    g_autofree struct network_policy *policy = NULL, *expected = NULL;

    if (!wanted) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_MISSING_FIELD,
                            "the field 'network_policy' is missing");
        return FALSE;
    }
    policy = g_new(struct network_policy, 1);
    if (!network_policy_parse_with(network_entry_add, wanted, policy, error))
        return FALSE;
    if (before) {
        expected = g_new(struct network_policy, 1);
        if (!network_policy_parse(before, expected, error))
            return FALSE;
    }
    session_configure_network(call->session, policy, expected,
                              stdio_call_on_answer,
                              stdio_call_keep_with(call, describe_network));
    return TRUE;
}

static gboolean send_network_status(const struct stdio_call *call,
                                    json_t *payload, GError **error)
{
    session_network_status(call->session, stdio_call_on_answer,
                           stdio_call_keep(call));
    return TRUE;
}

static gboolean list_connections(const struct stdio_call *call, json_t *payload,
                                 GError **error)
{
    session_network_connections(call->session, stdio_call_on_answer,
                                stdio_call_keep(call));
    return TRUE;
}

const struct stdio_operation stdio_network_operations[] = {
    { "session.configure_network",
      configure_network,
      { "network_policy", "expected" } },
    { "network.status", send_network_status, { "" } },
    { "network.connections", list_connections, { "" } },
    { NULL, NULL, { NULL } },
};
