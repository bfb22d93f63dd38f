/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_audit - see sandbox_audit.h.
 */
#include "agent/sandbox/sandbox_audit.h"

#include <config.h>

#include <string.h>
#include <unistd.h>

#include "agent/client/report_json.h"
#include "agent/sandbox/audit_file.h"
#include "agent/session/session_party.h"
#include "agent/wire/event_json.h"
#include "agent/wire/status_json.h"
#include "common/errors.h"
#include "common/json_bytes.h"

enum { COMMAND_MAX = 4096, STEP_COMMAND_MAX = 256 };

struct sandbox_audit {
    char *sandbox;
    struct session *session;
    struct audit_file *file; /* NULL: it cannot be opened */
    bool started;
    json_t *folders; /* as recorded last; NULL: the session has ended */
    guint64 missing; /* records since the last that was written */
    guint warning;   /* a source, or 0 */
    char *problem;   /* for the warning */
};

/* ---- writing ------------------------------------------------------------- */

/* From the main loop, not from within an event. */
static gboolean warn(gpointer data)
{
    struct sandbox_audit *audit = data;
    g_autofree char *text = g_strdup_printf(
        "the audit record is incomplete: %s; make room or mend the folder, "
        "and it continues",
        audit->problem);

    audit->warning = 0;
    session_warn_text(audit->session, "audit_incomplete", text);
    return G_SOURCE_REMOVE;
}

static bool append(struct sandbox_audit *audit, const char *type,
                   json_t *members)
{
    g_autoptr(GError) error = NULL;

    if (!audit->file)
        audit->file = audit_file_open(audit->sandbox, &error);
    if (audit->file &&
        audit_file_append(audit->file, type, json_incref(members), &error)) {
        json_decref(members);
        return true;
    }
    json_decref(members);
    if (audit->missing == 0) {
        g_free(audit->problem);
        audit->problem = g_strdup(error->message);
        if (!audit->warning)
            audit->warning = g_idle_add(warn, audit);
    }
    return false;
}

/* Append a record; members is taken. */
static void record(struct sandbox_audit *audit, const char *type,
                   json_t *members)
{
    if (audit->missing > 0)
        json_object_set_new(members, "missing_before",
                            json_integer((json_int_t)audit->missing));
    audit->missing = append(audit, type, members) ? 0 : audit->missing + 1;
}

/* ---- events -------------------------------------------------------------- */

static json_t *step_to_json(const struct step_report *report)
{
    static const char *const left_out[] = {
        "affected_paths", "changes",  "command",
        "directories",    "encoding", "dropped_output_events",
        "ended",          "started",  "truncated",
    };
    json_t *members = report_to_json(report);

    for (size_t i = 0; i < G_N_ELEMENTS(left_out); i++)
        json_object_del(members, left_out[i]);
    if (report->command)
        json_bytes_set(members, "command", report->command,
                       strnlen(report->command, STEP_COMMAND_MAX));
    return members;
}

static json_t *history_to_json(const struct session_event *event)
{
    json_t *steps = json_array();

    for (guint i = 0; event->steps && i < event->steps->len; i++) {
        const struct step_report *step = g_ptr_array_index(event->steps, i);

        json_array_append_new(steps, json_integer(step->step_id));
    }
    return json_pack("{s:s?, s:o, s:b}", "operation", event->operation, "steps",
                     steps, "truncated", event->truncated);
}

/* Return whether an event of an engine or machine is recorded: those that a
 * guest or another program can cause without end are not. */
static bool is_recorded(const char *name)
{
    static const char *const names[] = {
        "event.safeguard_triggered",
        "event.safeguard_decided",
        "event.recovery",
        "event.undo_version_mismatch",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* Implements session_callbacks.event. */
static bool on_event(const struct session_event *event, void *opaque)
{
    struct sandbox_audit *audit = opaque;

    switch (event->type) {
    case SESSION_EVENT_STEP_STARTED:
    case SESSION_EVENT_OUTPUT:
        return true;
    case SESSION_EVENT_STEP_COMPLETED:
        /* A guest can make steps without changes at will. */
        if (event->report->affected > 0 || event->report->aborted)
            record(audit, "step_completed", step_to_json(event->report));
        return true;
    case SESSION_EVENT_HISTORY:
        record(audit, "history_changed", history_to_json(event));
        return true;
    case SESSION_EVENT_RELAYED:
        if (!is_recorded(event->name))
            return true;
        break;
    case SESSION_EVENT_WARNING:
        if (g_strcmp0(event->warning->code, "audit_incomplete") == 0)
            return true;
        break;
    case SESSION_EVENT_ERROR:
    case SESSION_EVENT_COPY:
    case SESSION_EVENT_APPROVAL:
        break;
    }
    record(audit, event_name(event) + strlen("event."),
           event_payload_to_json(event));
    return true;
}

/* ---- executions ---------------------------------------------------------- */

static json_t *started_to_json(gint64 id, const struct command *command)
{
    size_t length = strlen(command->text);
    json_t *members = json_pack("{s:I, s:s*, s:b}", "exec_id", (json_int_t)id,
                                "user", command->user, "terminal",
                                command->rows > 0);

    json_bytes_set(members, "command", command->text, MIN(length, COMMAND_MAX));
    if (length > COMMAND_MAX)
        json_object_set_new(members, "command_bytes",
                            json_integer((json_int_t)length));
    if (command->cwd)
        json_object_set_new(members, "cwd", json_bytes_path(command->cwd));
    if (command->step == COMMAND_NO_STEP)
        json_object_set_new(members, "step", json_string("none"));
    return members;
}

static json_t *ended_to_json(const struct exec_exit *exit)
{
    json_t *members = json_pack("{s:I, s:i}", "exec_id",
                                (json_int_t)exit->exec_id, "exit_code",
                                exit->end.exit_code);

    if (exit->end.signal)
        json_object_set_new(members, "signal", json_integer(exit->end.signal));
    if (exit->step_id)
        json_object_set_new(members, "step_id", json_integer(exit->step_id));
    if (exit->error)
        json_object_set_new(
            members, "error",
            json_string(error_code_name(error_code_of(exit->error))));
    return members;
}

static void on_exec(const struct exec_note *note, void *opaque)
{
    if (note->command)
        record(opaque, "exec_started",
               started_to_json(note->exec_id, note->command));
    else
        record(opaque, "exec_exited", ended_to_json(note->exit));
}

static void on_policy(const struct network_policy *policy, void *opaque)
{
    record(
        opaque, "network_policy_changed",
        json_pack("{s:o}", "network_policy", network_policy_to_json(policy)));
}

static json_t *session_members(const struct sandbox_audit *audit)
{
    struct session_status status;

    session_get_status(audit->session, &status);
    return session_to_json(&status);
}

/* Also after a reset, whose machine has a new disk. */
static void on_folders(void *opaque)
{
    struct sandbox_audit *audit = opaque;
    json_t *session = session_members(audit);
    json_t *folders = json_incref(
        json_object_get(session, "working_directories"));

    if (audit->started && folders && !json_equal(folders, audit->folders))
        record(audit, "session_changed",
               json_pack("{s:O}", "working_directories", folders));
    json_decref(audit->folders);
    audit->folders = folders;
    json_decref(session);
}

static const struct session_callbacks callbacks = {
    .event = on_event,
    .folders = on_folders,
    .exec = on_exec,
    .policy = on_policy,
};

/* ---- life ---------------------------------------------------------------- */

struct sandbox_audit *sandbox_audit_new(const char *sandbox,
                                        struct session *session)
{
    struct sandbox_audit *audit = g_new0(struct sandbox_audit, 1);

    audit->sandbox = g_strdup(sandbox);
    audit->session = session;
    session_listen(session, &callbacks, audit);
    return audit;
}

void sandbox_audit_free(struct sandbox_audit *audit)
{
    if (!audit)
        return;
    session_unlisten(audit->session, &callbacks, audit);
    g_clear_handle_id(&audit->warning, g_source_remove);
    audit_file_close(audit->file);
    json_decref(audit->folders);
    g_free(audit->problem);
    g_free(audit->sandbox);
    g_free(audit);
}

void sandbox_audit_start(struct sandbox_audit *audit)
{
    json_t *members = session_members(audit);

    json_object_del(members, "state");
    json_object_del(members, "held");
    json_object_set_new(members, "version", json_string(PACKAGE_VERSION));
    json_object_set_new(members, "pid", json_integer(getpid()));
    json_decref(audit->folders);
    audit->folders = json_incref(
        json_object_get(members, "working_directories"));
    record(audit, "sandbox_started", members);
    audit->started = true;
}

void sandbox_audit_end(struct sandbox_audit *audit, const char *reason,
                       const char *message)
{
    record(audit, "sandbox_ended",
           json_pack("{s:s, s:s*}", "reason", reason, "message", message));
}
