/* SPDX-License-Identifier: Apache-2.0
 *
 * control_ops - see control_ops.h.
 */
#include "interceptor/control/control_ops.h"

#include <string.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/message.h"
#include "interceptor/control/control_diff.h"
#include "interceptor/control/control_outside.h"
#include "interceptor/control/control_restore.h"
#include "interceptor/control/control_safeguard.h"
#include "interceptor/control/control_writers.h"
#include "interceptor/engine/engine.h"
#include "interceptor/engine/safeguard.h"
#include "interceptor/report/report.h"

enum {
    QUIET_MS = 100,
    QUIET_MAX_MS = 2000,
    QUIET_LIMIT_MS = 60000,
    HISTORY_LIMIT = 50,
    REDO_LIMIT = 1000,
};

static json_t *handle_step_open(struct ic *ic, json_t *payload, GError **error)
{
    const char *type_name = "command";
    g_autofree char *command = json_bytes_get(payload, "command", NULL);
    enum ic_step_type type;
    gint64 id;

    if (!message_get_int(payload, "step_id", 1, G_MAXINT64, &id, error) ||
        !message_get_optional_string(payload, "type", &type_name, error))
        return NULL;
    if (!command && json_object_get(payload, "command")) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'command' must be a string, or base64 "
                            "with 'encoding'");
        return NULL;
    }
    if (!step_type_parse(type_name, &type) || type == IC_STEP_AMBIENT) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'type' must be command or api");
        return NULL;
    }
    if (!ic_step_open(ic, id, type, command, error))
        return NULL;
    return json_object();
}

static json_t *handle_step_close(struct ic *ic, json_t *payload, GError **error)
{
    gint64 id, exit_code = -1, quiet = QUIET_MS, max = QUIET_MAX_MS;
    gboolean settle = FALSE;
    struct ic_step_info *info;
    json_t *report;

    if (!message_get_int(payload, "step_id", 1, G_MAXINT64, &id, error) ||
        !message_get_optional_int(payload, "exit_code", -1, 255, &exit_code,
                                  error) ||
        !message_get_optional_int(payload, "quiet_ms", 0, QUIET_LIMIT_MS,
                                  &quiet, error) ||
        !message_get_optional_int(payload, "max_ms", 0, QUIET_LIMIT_MS, &max,
                                  error) ||
        !message_get_optional_bool(payload, "settle", &settle, error))
        return NULL;
    if (settle) {
        ic_step_settle(ic, (unsigned)quiet, (unsigned)max);
        quiet = max = 0;
    }
    if (!ic_step_close(ic, id, (int)exit_code, (unsigned)quiet, (unsigned)max,
                       &info, error))
        return NULL;
    report = report_to_json(info);
    ic_step_info_free(info);
    return report;
}

static json_t *handle_step_abort(struct ic *ic, json_t *payload, GError **error)
{
    gint64 id;

    if (!message_get_int(payload, "step_id", 1, G_MAXINT64, &id, error) ||
        !ic_step_abort(ic, id, error))
        return NULL;
    return json_object();
}

static json_t *list_without_changes(const GPtrArray *infos)
{
    json_t *list = control_outside_reports(infos), *report;
    size_t i;

    json_array_foreach(list, i, report)
    {
        json_object_del(report, "changes");
        json_object_del(report, "affected_paths");
    }
    return list;
}

static json_t *handle_history(struct ic *ic, json_t *payload, GError **error)
{
    g_autoptr(GPtrArray) infos = NULL, redos = NULL;
    gint64 limit = HISTORY_LIMIT;

    if (!message_get_optional_int(payload, "limit", 1, 1000000, &limit, error))
        return NULL;
    infos = ic_history(ic, (unsigned)limit, error);
    redos = infos ? ic_redo_history(ic, REDO_LIMIT, error) : NULL;
    if (!redos)
        return NULL;
    return json_pack(
        "{s:o, s:o, s:I, s:i, s:o}", "steps", control_outside_reports(infos),
        "barriers", control_outside_barriers(ic), "last_step_id",
        (json_int_t)ic_last_step_id(ic), "redoable", (int)ic_redoable(ic),
        "redo_steps", list_without_changes(redos));
}

static bool parse_durability(const char *name, enum ic_durability *ret_value)
{
    if (strcmp(name, "process") == 0)
        *ret_value = IC_DURABILITY_PROCESS;
    else if (strcmp(name, "power") == 0)
        *ret_value = IC_DURABILITY_POWER;
    else
        return false;
    return true;
}

static gboolean get_durability(json_t *payload, enum ic_durability *ret_value,
                               GError **error)
{
    const char *name = NULL;

    if (!message_get_optional_string(payload, "durability", &name, error))
        return FALSE;
    if (!name || parse_durability(name, ret_value))
        return TRUE;
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                        "the field 'durability' must be process or power");
    return FALSE;
}

static json_t *handle_configure(struct ic *ic, json_t *payload, GError **error)
{
    enum ic_durability durability = IC_DURABILITY_DEFAULT;
    struct ic_limits limits = { 0 };
    const struct {
        const char *name;
        int64_t *value;
    } fields[] = {
        { "max_log_size_bytes", &limits.max_log_size },
        { "max_single_step_size_bytes", &limits.max_single_step_size },
        { "max_step_count", &limits.max_step_count },
        { "min_free_bytes", &limits.min_free },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        gint64 value = 0;

        if (!message_get_optional_int(payload, fields[i].name, -1, G_MAXINT64,
                                      &value, error))
            return NULL;
        *fields[i].value = value;
    }
    if (!get_durability(payload, &durability, error) ||
        !control_outside_configure(ic, payload, error) ||
        !ic_configure(ic, &limits, error))
        return NULL;
    ic_set_durability(ic, durability);
    return json_object();
}

/* "encoding" applies to the content; the path is text. */
static json_t *handle_write_file(struct ic *ic, json_t *payload, GError **error)
{
    json_t *replaces = json_object_get(payload, "replaces");
    gboolean make_parents = FALSE;
    gint64 mode = -1, id = 0;
    struct ic_file_write request = { 0 };
    g_autofree char *content = NULL;
    struct ic_step_info *info;
    json_t *report;

    if (!message_get_string(payload, "path", &request.path, error) ||
        !message_get_optional_int(payload, "mode", 0, 07777, &mode, error) ||
        !message_get_optional_int(payload, "step_id", 1, G_MAXINT64, &id,
                                  error) ||
        !message_get_optional_string(payload, "command", &request.command,
                                     error) ||
        !message_get_optional_bool(payload, "make_parents", &make_parents,
                                   error))
        return NULL;
    content = json_bytes_get(payload, "content", &request.len);
    if (!content || strlen(request.path) !=
                        json_string_length(json_object_get(payload, "path"))) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "the field '%s' must be %s", content ? "path" : "content",
                    content ? "a path, without NUL"
                            : "text, or base64 with encoding: base64");
        return NULL;
    }
    request.data = content;
    request.set_mode = mode >= 0;
    request.mode = request.set_mode ? (mode_t)mode : 0;
    request.make_parents = make_parents;
    request.step_id = id;
    if (replaces
            ? !control_outside_replace(ic, &request, replaces, &info, error)
            : !ic_write_file(ic, &request, &info, error))
        return NULL;
    report = report_to_json(info);
    ic_step_info_free(info);
    return report;
}

static json_t *handle_discard(struct ic *ic, json_t *payload, GError **error)
{
    return ic_discard(ic, error) ? json_object() : NULL;
}

static json_t *handle_status(struct ic *ic, json_t *payload, GError **error)
{
    dev_t mount_dev = atomic_load(&ic->mount_dev);
    g_autofree char *command = NULL;
    int64_t open_step = 0;
    json_t *status;

    pthread_rwlock_rdlock(&ic->gate);
    pthread_mutex_lock(&ic->names);
    if (ic->wal.step) {
        open_step = ic->wal.step->id;
        command = g_strdup(ic->wal.step->command);
    }
    pthread_mutex_unlock(&ic->names);
    pthread_rwlock_unlock(&ic->gate);
    if (!open_step)
        open_step = safeguard_denied_step(ic);
    status = json_pack("{s:I, s:i, s:b, s:b}", "last_step_id",
                       (json_int_t)ic_last_step_id(ic), "pid", (int)getpid(),
                       "undo", ic->log != NULL, "read_only", ic->read_only);
    json_object_set_new(status, "share", json_bytes_path(ic->share));
    json_object_set_new(status, "share_dev", json_integer((json_int_t)ic->dev));
    json_object_set_new(status, "share_ino",
                        json_integer((json_int_t)ic->root->ino));
    if (mount_dev)
        json_object_set_new(status, "mount_dev",
                            json_integer((json_int_t)mount_dev));
    json_object_set_new(status, "undo_dir",
                        ic->undo_dir ? json_bytes_path(ic->undo_dir)
                                     : json_null());
    json_object_set_new(status, "open_step",
                        open_step ? json_integer(open_step) : json_null());
    if (command)
        json_object_set_new(status, "open_command",
                            json_bytes_value("command", command));
    json_object_set_new(status, "pending_safeguard",
                        safeguard_pending_to_json(ic));
    return status;
}

static const struct {
    const char *type;
    json_t *(*handle)(struct ic *ic, json_t *payload, GError **error);
    /* Or this one, if its errors have data (new, or unset). */
    json_t *(*handle_with_data)(struct ic *ic, json_t *payload,
                                json_t **ret_data, GError **error);
} operations[] = {
    { "step.open", handle_step_open },
    { "step.close", handle_step_close },
    { "step.abort", handle_step_abort },
    { "rollback", NULL, control_outside_rollback },
    { "redo", NULL, control_outside_redo },
    { "preview", NULL, control_outside_preview },
    { "history", handle_history },
    { "restore", NULL, control_restore },
    { "diff", control_diff },
    { "configure", handle_configure },
    { "discard", handle_discard },
    { "write_file", handle_write_file },
    { "status", handle_status },
    { "writers.follow", control_writers_follow },
    { "writers.name", control_writers_name },
    { "safeguard.configure", control_safeguard_configure },
    { "safeguard.confirm", control_safeguard_confirm },
};

json_t *control_ops_carry_out(struct ic *ic, json_t *request)
{
    const char *type = json_string_value(json_object_get(request, "type"));
    const char *id = json_string_value(json_object_get(request, "request_id"));
    json_t *payload = json_object_get(request, "payload");
    g_autoptr(GError) error = NULL;
    json_t *answer, *data = NULL;

    if (!type || !id)
        return message_error(id, ERROR_MISSING_FIELD,
                             type ? "the field 'request_id' is missing"
                                  : "the field 'type' is missing",
                             NULL);
    if (payload && !json_is_object(payload))
        return message_error(id, ERROR_INVALID_FIELD,
                             "the field 'payload' must be an object", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(operations); i++) {
        if (g_strcmp0(type, operations[i].type) != 0)
            continue;
        answer = operations[i].handle
                     ? operations[i].handle(ic, payload, &error)
                     : operations[i].handle_with_data(ic, payload, &data,
                                                      &error);
        return answer ? message_response(id, answer)
                      : message_gerror_with(id, error, data);
    }
    return message_error(id, ERROR_UNKNOWN_OPERATION,
                         "no such operation on the control socket", NULL);
}
