/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_audit - see sandbox_audit.h.
 */
#include "agent/sandbox/sandbox_audit.h"

#include <config.h>

#include <string.h>
#include <unistd.h>

#include "agent/client/report_json.h"
#include "agent/sandbox/audit_writer.h"
#include "agent/session/session_party.h"
#include "agent/wire/event_json.h"
#include "agent/wire/status_json.h"
#include "common/errors.h"
#include "common/json_bytes.h"

enum { COMMAND_MAX = 4096, STEP_COMMAND_MAX = 256 };

struct sandbox_audit {
    struct session *session;
    struct audit_writer *events, *network;
    double network_room; /* records that may follow */
    gint64 network_time; /* when that was computed: monotonic, us */
    bool started;
    json_t *folders; /* as recorded last; NULL: the session has ended */
};

/* ---- the network ----------------------------------------------------------
 *
 * A guest can make connections without end: beyond a number, so many a second
 * are recorded, and the older ones last for hours. */

enum { NETWORK_BURST = 5000, NETWORK_PER_S = 2 };

/* Return whether there is room for a further record of the network. */
static bool take_turn(struct sandbox_audit *audit)
{
    gint64 now = g_get_monotonic_time();
    double more = (double)(now - audit->network_time) / G_USEC_PER_SEC *
                  NETWORK_PER_S;

    audit->network_time = now;
    audit->network_room = MIN(audit->network_room + more, NETWORK_BURST);
    if (audit->network_room < 1)
        return false;
    audit->network_room--;
    return true;
}

/* Record the payload (taken) of an event of the network. */
static void record_network(struct sandbox_audit *audit, const char *type,
                           json_t *payload)
{
    if (take_turn(audit)) {
        json_object_set_new(payload, "began",
                            json_incref(json_object_get(payload, "time")));
        json_object_del(payload, "time");
        audit_writer_add(audit->network, type, payload);
        return;
    }
    audit_writer_skip(audit->network, 1);
    json_decref(payload);
}

/* More than the processes of the network report one by one. */
static void on_network_missed(guint64 count, void *opaque)
{
    struct sandbox_audit *audit = opaque;

    audit_writer_skip(audit->network, count);
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
            audit_writer_add(audit->events, "step_completed",
                             step_to_json(event->report));
        return true;
    case SESSION_EVENT_HISTORY:
        audit_writer_add(audit->events, "history_changed",
                         history_to_json(event));
        return true;
    case SESSION_EVENT_RELAYED:
        if (g_str_has_prefix(event->name, "event.network_"))
            record_network(audit, event_name(event) + strlen("event."),
                           event_payload_to_json(event));
        if (!is_recorded(event->name))
            return true;
        break;
    case SESSION_EVENT_WARNING:
        if (g_strcmp0(event->warning->code, AUDIT_INCOMPLETE) == 0)
            return true;
        break;
    case SESSION_EVENT_ERROR:
    case SESSION_EVENT_COPY:
    case SESSION_EVENT_APPROVAL:
        break;
    }
    audit_writer_add(audit->events, event_name(event) + strlen("event."),
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
    struct sandbox_audit *audit = opaque;

    if (note->command)
        audit_writer_add(audit->events, "exec_started",
                         started_to_json(note->exec_id, note->command));
    else
        audit_writer_add(audit->events, "exec_exited",
                         ended_to_json(note->exit));
}

static void on_policy(const struct network_policy *policy, void *opaque)
{
    struct sandbox_audit *audit = opaque;

    audit_writer_add(
        audit->events, "network_policy_changed",
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
        audit_writer_add(audit->events, "session_changed",
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
    .network_missed = on_network_missed,
};

/* ---- life ---------------------------------------------------------------- */

struct sandbox_audit *sandbox_audit_new(const char *sandbox,
                                        struct session *session)
{
    struct sandbox_audit *audit = g_new0(struct sandbox_audit, 1);

    audit->session = session;
    audit->events = audit_writer_new(AUDIT_EVENTS, sandbox, session);
    audit->network = audit_writer_new(AUDIT_NETWORK, sandbox, session);
    audit->network_room = NETWORK_BURST;
    audit->network_time = g_get_monotonic_time();
    session_listen(session, &callbacks, audit);
    return audit;
}

void sandbox_audit_free(struct sandbox_audit *audit)
{
    if (!audit)
        return;
    session_unlisten(audit->session, &callbacks, audit);
    audit_writer_free(audit->events);
    audit_writer_free(audit->network);
    json_decref(audit->folders);
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
    audit_writer_add(audit->events, "sandbox_started", members);
    audit->started = true;
}

void sandbox_audit_end(struct sandbox_audit *audit, const char *reason,
                       const char *message)
{
    audit_writer_add(
        audit->events, "sandbox_ended",
        json_pack("{s:s, s:s*}", "reason", reason, "message", message));
    audit_writer_end(audit->network, "network_missing");
}
