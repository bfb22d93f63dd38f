/* SPDX-License-Identifier: Apache-2.0
 *
 * approval_json - see approval_json.h.
 */
#include "agent/wire/approval_json.h"

#include <string.h>

#include "agent/base/network_entry.h"
#include "agent/session/session_guard.h"
#include "agent/wire/directory_json.h"
#include "agent/wire/payload.h"
#include "common/json_bytes.h"
#include "common/message.h"

/* ---- writing ------------------------------------------------------------- */

static const char *access_name(bool read_only)
{
    return read_only ? "read_only" : "read_write";
}

static const char *outcome_name(enum approval_outcome outcome)
{
    static const char *const names[] = {
        [APPROVAL_PENDING] = "pending",     [APPROVAL_ALLOWED] = "allowed",
        [APPROVAL_DENIED] = "denied",       [APPROVAL_TIMED_OUT] = "timeout",
        [APPROVAL_WITHDRAWN] = "withdrawn",
    };

    return names[outcome];
}

static void add_grant(json_t *object, const struct approval *approval)
{
    const struct session_directory *directory = approval->directory;

    json_object_set_new(object, "kind", json_string("grant"));
    json_object_set_new(object, "access",
                        json_string(access_name(approval->read_only)));
    json_object_set_new(object, "reason", json_string(approval->reason));
    json_object_set_new(object, "path", json_bytes_path(approval->target.path));
    if (approval->target.problem)
        json_object_set_new(object, "problem",
                            json_string(approval->target.problem));
    if (approval->exec_id)
        json_object_set_new(object, "exec_id", json_integer(approval->exec_id));
    if (directory)
        json_object_set_new(object, "folder", directory_to_json(directory));
}

static void add_question(json_t *object, const struct approval *approval)
{
    g_autofree char *unicode = network_entry_unicode(approval->name);

    json_object_set_new(object, "kind", json_string("network"));
    json_object_set_new(object, "name", json_string(approval->name));
    if (unicode)
        json_object_set_new(object, "unicode", json_string(unicode));
    json_object_set_new(object, "port", json_integer(approval->port));
    if (approval->outcome == APPROVAL_ALLOWED)
        json_object_set_new(
            object, "duration",
            json_string(approval->is_listed ? "always" : "once"));
}

json_t *approval_to_json(const struct approval *approval)
{
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:o, s:o}", "id", approval->id, "outcome",
        outcome_name(approval->outcome), "origin", approval->origin,
        "requested", time_to_json(approval->requested), "expires",
        time_to_json(approval->requested +
                     approval->timeout_s * G_TIME_SPAN_SECOND));

    if (approval->kind == APPROVAL_NETWORK)
        add_question(object, approval);
    else
        add_grant(object, approval);
    return object;
}

struct listing {
    const struct session *session;
    json_t *list;
};

static void add_safeguard(const char *id, unsigned index, gint64 step_id,
                          void *opaque)
{
    struct listing *listing = opaque;
    struct session_status status;

    session_get_status(listing->session, &status);
    json_array_append_new(listing->list,
                          json_pack("{s:s, s:s, s:s, s:I, s:s}", "id", id,
                                    "kind", "safeguard", "outcome", "pending",
                                    "step_id", (json_int_t)step_id, "directory",
                                    status.config->directories[index]->label));
}

json_t *approvals_to_json(const struct session *session)
{
    const GPtrArray *approvals = session_approvals(session);
    struct listing listing = { session, json_array() };

    for (guint i = 0; i < approvals->len; i++)
        json_array_append_new(
            listing.list, approval_to_json(g_ptr_array_index(approvals, i)));
    session_guard_foreach(session, add_safeguard, &listing);
    return json_pack("{s:o}", "approvals", listing.list);
}

/* ---- reading ------------------------------------------------------------- */

static gboolean get_choice(json_t *payload, const char *member, const char *one,
                           const char *other, const char **ret_value,
                           GError **error)
{
    g_autofree char *problem = NULL;

    *ret_value = NULL;
    if (!message_get_optional_string(payload, member, ret_value, error))
        return FALSE;
    if (!*ret_value || strcmp(*ret_value, one) == 0 ||
        strcmp(*ret_value, other) == 0)
        return TRUE;
    problem = g_strdup_printf("must be '%s' or '%s'", one, other);
    return payload_invalid(member, problem, error);
}

gboolean grant_request_from_json(json_t *payload,
                                 struct grant_request *ret_request,
                                 char **ret_path, GError **error)
{
    const char *access;
    gint64 timeout = 0;

    *ret_path = NULL;
    *ret_request = (struct grant_request){ .origin = "api" };
    if (!payload_check_has(payload, "path", error) ||
        !payload_get_bytes(payload, "path", "path", ret_path, error) ||
        !get_choice(payload, "access", "read_only", "read_write", &access,
                    error) ||
        !message_get_optional_string(payload, "reason", &ret_request->reason,
                                     error) ||
        !message_get_optional_int(payload, "timeout_seconds", 1,
                                  APPROVAL_TIMEOUT_MAX_S, &timeout, error))
        return FALSE;
    ret_request->path = *ret_path;
    ret_request->read_only = !access || strcmp(access, "read_only") == 0;
    ret_request->timeout_s = (unsigned)timeout;
    return TRUE;
}

gboolean decision_from_json(json_t *payload,
                            struct approval_decision *ret_decision,
                            char **ret_path, GError **error)
{
    const char *decision, *duration;

    *ret_path = NULL;
    *ret_decision = (struct approval_decision){ 0 };
    if (!message_get_string(payload, "id", &ret_decision->id, error) ||
        !payload_check_has(payload, "decision", error) ||
        !get_choice(payload, "decision", "allow", "deny", &decision, error) ||
        !get_choice(payload, "access", "read_only", "read_write",
                    &ret_decision->access, error) ||
        !get_choice(payload, "duration", "once", "always", &duration, error) ||
        !payload_get_bytes(payload, "path", "path", ret_path, error))
        return FALSE;
    ret_decision->path = *ret_path;
    ret_decision->allow = strcmp(decision, "allow") == 0;
    ret_decision->is_kept = duration && strcmp(duration, "always") == 0;
    return TRUE;
}
