/* SPDX-License-Identifier: Apache-2.0
 *
 * stdio_ops - see stdio_ops.h.
 */
#include <config.h>

#include "agent/stdio/stdio_ops.h"

#include <string.h>

#include "agent/client/settings_json.h"
#include "agent/stdio/stdio_call.h"
#include "agent/wire/command_json.h"
#include "agent/wire/config_json.h"
#include "agent/wire/fs_json.h"
#include "agent/wire/payload.h"
#include "agent/wire/status_json.h"
#include "common/errors.h"
#include "common/message.h"

enum {
    LIST_DEFAULT = 1000,
    LIST_MAX = 100000,
    HISTORY_DEFAULT = 50,
    HISTORY_MAX = 1000,
};

/* Each function below answers its call now or later and returns TRUE, or
 * returns FALSE and error. */

/* ---- the session --------------------------------------------------------- */

static json_t *describe_session(struct session *session)
{
    struct session_status status;

    session_get_status(session, &status);
    return session_to_json(&status);
}

static json_t *describe_status(struct session *session)
{
    struct session_status status;

    session_get_status(session, &status);
    return status_to_json(&status);
}

static gboolean start_session(const struct stdio_call *call, json_t *payload,
                              GError **error)
{
    struct session_config *config = config_from_json(payload, error);

    if (!config)
        return FALSE;
    session_start(call->session, config, stdio_call_on_answer,
                  stdio_call_keep_with(call, describe_session));
    return TRUE;
}

static gboolean stop_session(const struct stdio_call *call, json_t *payload,
                             GError **error)
{
    session_stop(call->session, stdio_call_on_answer,
                 stdio_call_keep_with(call, describe_session));
    return TRUE;
}

static gboolean reset_session(const struct stdio_call *call, json_t *payload,
                              GError **error)
{
    struct session_config *config = NULL;

    if (json_object_size(payload) > 0) {
        config = config_from_json(payload, error);
        if (!config)
            return FALSE;
    }
    session_reset(call->session, config, stdio_call_on_answer,
                  stdio_call_keep_with(call, describe_session));
    return TRUE;
}

static gboolean send_status(const struct stdio_call *call, json_t *payload,
                            GError **error)
{
    stdio_call_answer(call, describe_status(call->session));
    return TRUE;
}

/* ---- commands ------------------------------------------------------------ */

static gboolean run(const struct stdio_call *call, struct command *command)
{
    if (command)
        command->owner = call->party;
    if (command)
        session_execute(call->session, command, stdio_call_on_answer,
                        stdio_call_keep(call));
    return command != NULL;
}

static gboolean execute(const struct stdio_call *call, json_t *payload,
                        GError **error)
{
    return run(call, command_from_json(payload, error));
}

static gboolean prompt(const struct stdio_call *call, json_t *payload,
                       GError **error)
{
    return run(call, command_from_prompt_json(payload, error));
}

static gboolean cancel(const struct stdio_call *call, json_t *payload,
                       GError **error)
{
    bool cancelled = session_cancel(call->session);

    stdio_call_answer(call, json_pack("{s:b}", "cancelled", cancelled));
    return TRUE;
}

/* ---- undo ---------------------------------------------------------------- */

typedef void undo_function(struct session *session, struct folder_ref directory,
                           const struct undo_extent *extent, reply_done done,
                           void *opaque);

static gboolean call_with_extent(const struct stdio_call *call, json_t *payload,
                                 undo_function *operate, GError **error)
{
    struct undo_extent extent;

    if (!payload_get_extent(payload, &extent, error))
        return FALSE;
    if (operate == session_redo && extent.step_id != 0) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "redo takes no 'step_id'; give 'steps'");
        return FALSE;
    }
    operate(call->session, folder_from_json(payload), &extent,
            stdio_call_on_answer, stdio_call_keep(call));
    return TRUE;
}

static gboolean rollback(const struct stdio_call *call, json_t *payload,
                         GError **error)
{
    return call_with_extent(call, payload, session_rollback, error);
}

static gboolean redo(const struct stdio_call *call, json_t *payload,
                     GError **error)
{
    return call_with_extent(call, payload, session_redo, error);
}

static gboolean preview(const struct stdio_call *call, json_t *payload,
                        GError **error)
{
    return call_with_extent(call, payload, session_preview, error);
}

static gboolean restore(const struct stdio_call *call, json_t *payload,
                        GError **error)
{
    g_autoptr(GPtrArray) paths = NULL;
    struct undo_extent extent;
    gboolean dry = FALSE;

    if (!payload_get_extent(payload, &extent, error) ||
        !message_get_optional_bool(payload, "dry_run", &dry, error) ||
        !payload_get_paths(payload, &paths, error))
        return FALSE;
    session_restore(call->session, folder_from_json(payload), &extent, paths,
                    dry, stdio_call_on_answer, stdio_call_keep(call));
    return TRUE;
}

static gboolean history(const struct stdio_call *call, json_t *payload,
                        GError **error)
{
    gint64 limit = HISTORY_DEFAULT;

    if (!message_get_optional_int(payload, "limit", 1, HISTORY_MAX, &limit,
                                  error))
        return FALSE;
    session_history(call->session, folder_from_json(payload), (unsigned)limit,
                    stdio_call_on_answer, stdio_call_keep(call));
    return TRUE;
}

/* Copy the payload without the members that are not limits. Returns a new
 * object. */
static json_t *engine_payload(json_t *payload)
{
    json_t *copy = payload ? json_copy(payload) : json_object();

    json_object_del(copy, "directory");
    return copy;
}

static gboolean configure_undo(const struct stdio_call *call, json_t *payload,
                               GError **error)
{
    json_t *own = engine_payload(payload);
    struct undo_limits limits;
    gboolean ok = limits_from_json(own, &limits, error);

    json_decref(own);
    if (ok)
        session_configure(call->session, folder_from_json(payload), &limits,
                          stdio_call_on_answer, stdio_call_keep(call));
    return ok;
}

static gboolean diff(const struct stdio_call *call, json_t *payload,
                     GError **error)
{
    struct folder_ref directory = folder_from_json(payload);
    g_autoptr(GPtrArray) paths = NULL;
    struct patch_request request;
    bool as_patch;

    if (!payload_get_diff(payload, &request, &paths, &as_patch, error))
        return FALSE;
    if (as_patch)
        session_patch(call->session, directory, &request, stdio_call_on_answer,
                      stdio_call_keep(call));
    else
        session_diff(call->session, directory, request.step, request.first,
                     stdio_call_on_answer, stdio_call_keep(call));
    return TRUE;
}

static gboolean discard(const struct stdio_call *call, json_t *payload,
                        GError **error)
{
    session_discard(call->session, folder_from_json(payload),
                    stdio_call_on_answer, stdio_call_keep(call));
    return TRUE;
}

/* ---- safeguards ---------------------------------------------------------- */

static gboolean configure_guard(const struct stdio_call *call, json_t *payload,
                                GError **error)
{
    struct safeguard_rules rules;

    if (!rules_from_json(payload, &rules, error))
        return FALSE;
    session_guard_configure(call->session, &rules, stdio_call_on_answer,
                            stdio_call_keep(call));
    return TRUE;
}

static gboolean confirm_guard(const struct stdio_call *call, json_t *payload,
                              GError **error)
{
    const char *id, *action;
    bool allow;

    if (!message_get_string(payload, "safeguard_id", &id, error) ||
        !message_get_string(payload, "action", &action, error))
        return FALSE;
    allow = strcmp(action, "allow") == 0;
    if (!allow && strcmp(action, "deny") != 0) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'action' must be allow or deny");
        return FALSE;
    }
    session_guard_confirm(call->session, id, allow, stdio_call_on_answer,
                          stdio_call_keep(call));
    return TRUE;
}

/* ---- files --------------------------------------------------------------- */

static gboolean list(const struct stdio_call *call, json_t *payload,
                     GError **error)
{
    gint64 limit = LIST_DEFAULT;
    const char *path = "";
    struct fs_listing *listing;
    int fd;

    if (!message_get_optional_string(payload, "path", &path, error) ||
        !message_get_optional_int(payload, "limit", 1, LIST_MAX, &limit, error))
        return FALSE;
    fd = session_folder_fd(call->session, folder_from_json(payload), error);
    listing = fd < 0 ? NULL : fs_view_list(fd, path, (unsigned)limit, error);
    if (!listing)
        return FALSE;
    stdio_call_answer(call, fs_listing_to_json(listing, path));
    fs_listing_free(listing);
    return TRUE;
}

static gboolean read_file(const struct stdio_call *call, json_t *payload,
                          GError **error)
{
    gint64 offset = 0, length = -1;
    struct fs_content *content;
    const char *path;
    int fd;

    if (!message_get_string(payload, "path", &path, error) ||
        !message_get_optional_int(payload, "offset", 0, G_MAXINT64 / 2, &offset,
                                  error) ||
        !message_get_optional_int(payload, "length", 0, G_MAXINT64 / 2, &length,
                                  error))
        return FALSE;
    fd = session_folder_fd(call->session, folder_from_json(payload), error);
    content = fd < 0 ? NULL : fs_view_read(fd, path, offset, length, error);
    if (!content)
        return FALSE;
    stdio_call_answer(call, fs_content_to_json(content, path));
    fs_content_free(content);
    return TRUE;
}

static gboolean send_folder_status(const struct stdio_call *call,
                                   json_t *payload, GError **error)
{
    session_folder_status(call->session, folder_from_json(payload),
                          stdio_call_on_answer, stdio_call_keep(call));
    return TRUE;
}

/* ---- the table ----------------------------------------------------------- */

static gboolean hello(const struct stdio_call *call, json_t *payload,
                      GError **error);

static const struct stdio_operation operations[] = {
    { "protocol.hello", hello, { NULL } },
    { "session.start", start_session, { NULL } },
    { "session.stop", stop_session, { "" } },
    { "session.reset", reset_session, { NULL } },
    { "session.status", send_status, { "" } },
    { "agent.execute",
      execute,
      { "command", "cwd", "env", "timeout_seconds" } },
    { "agent.prompt", prompt, { "prompt", "timeout_seconds" } },
    { "agent.cancel", cancel, { "" } },
    { "undo.rollback", rollback, { "steps", "step_id", "force", "directory" } },
    { "undo.restore",
      restore,
      { "paths", "steps", "step_id", "force", "dry_run", "directory" } },
    { "undo.redo", redo, { "steps", "step_id", "force", "directory" } },
    { "undo.preview", preview, { "steps", "step_id", "force", "directory" } },
    { "undo.history", history, { "limit", "directory" } },
    { "undo.configure", configure_undo, { NULL } },
    { "undo.diff",
      diff,
      { "step_id", "first", "directory", "format", "paths" } },
    { "undo.discard", discard, { "directory" } },
    { "safeguard.configure", configure_guard, { NULL } },
    { "safeguard.confirm", confirm_guard, { "safeguard_id", "action" } },
    { "fs.list", list, { "path", "limit", "directory" } },
    { "fs.read", read_file, { "path", "offset", "length", "directory" } },
    { "fs.status", send_folder_status, { "directory" } },
    { NULL },
};

static const struct stdio_operation *const tables[] = {
    operations,
    stdio_exec_operations,
    stdio_folder_operations,
    stdio_network_operations,
    stdio_port_operations,
    stdio_copy_operations,
    stdio_approval_operations,
};

static const char *const client_operations[] = { STDIO_OPS_OF_CLIENTS };

static gboolean hello(const struct stdio_call *call, json_t *payload,
                      GError **error)
{
    json_t *names;
    gint64 version;

    if (!message_get_int(payload, "protocol_version", 0, G_MAXINT32, &version,
                         error))
        return FALSE;
    if (version != STDIO_API_PROTOCOL_VERSION) {
        g_set_error(error, STEPBACK_ERROR, ERROR_UNSUPPORTED_PROTOCOL_VERSION,
                    "protocol version %d is supported, not %" G_GINT64_FORMAT,
                    STDIO_API_PROTOCOL_VERSION, version);
        return FALSE;
    }
    names = json_array();
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        for (const struct stdio_operation *op = tables[i]; op->type; op++)
            json_array_append_new(names, json_string(op->type));
    }
    for (size_t i = 0; i < G_N_ELEMENTS(client_operations); i++)
        json_array_append_new(names, json_string(client_operations[i]));
    stdio_call_answer(call,
                      json_pack("{s:i, s:s, s:o}", "protocol_version",
                                STDIO_API_PROTOCOL_VERSION, "agent_version",
                                PACKAGE_VERSION, "operations", names));
    return TRUE;
}

static void set_unknown(const char *type, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);

    g_string_printf(text, "unknown operation '%.100s'; known are", type);
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        for (const struct stdio_operation *op = tables[i]; op->type; op++)
            g_string_append_printf(text, "%s %s", op == operations ? "" : ",",
                                   op->type);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(client_operations); i++)
        g_string_append_printf(text, ", %s", client_operations[i]);
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_UNKNOWN_OPERATION,
                        text->str);
}

/* A misspelt field would count as left out: no time limit, or all folders
 * instead of one. */
static gboolean check_fields(const struct stdio_operation *operation,
                             json_t *payload, GError **error)
{
    return !operation->fields[0] ||
           message_check_known(payload, operation->fields, error);
}

gboolean stdio_ops_carry_out(struct session *session,
                             const struct session_party *party,
                             const char *type, json_t *payload,
                             stdio_ops_done done, void *opaque, GError **error)
{
    const struct stdio_call call = { session, party, done, opaque, NULL };

    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        for (const struct stdio_operation *op = tables[i]; op->type; op++) {
            if (strcmp(type, op->type) == 0)
                return check_fields(op, payload, error) &&
                       op->carry_out(&call, payload, error);
        }
    }
    set_unknown(type, error);
    return FALSE;
}
