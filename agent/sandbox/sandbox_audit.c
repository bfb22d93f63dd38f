/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_audit - see sandbox_audit.h.
 */
#include "agent/sandbox/sandbox_audit.h"

#include <config.h>

#include <string.h>
#include <unistd.h>

#include "agent/client/report_json.h"
#include "agent/sandbox/audit_room.h"
#include "agent/sandbox/audit_writer.h"
#include "agent/session/session_approval.h"
#include "agent/session/session_party.h"
#include "agent/wire/event_json.h"
#include "agent/wire/status_json.h"
#include "common/errors.h"
#include "common/json_bytes.h"

enum { COMMAND_MAX = 4096, STEP_COMMAND_MAX = 256 };

struct sandbox_audit {
    struct session *session;
    struct audit_writer *events, *network;
    struct audit_room network_room, request_room;
    bool started;
    json_t *folders; /* as recorded last; NULL: the session has ended */
};

/* A guest can make connections and requests without end: a number is recorded,
 * and then so many a minute. */
enum { NETWORK_MOST = 5000, NETWORK_PER_MINUTE = 120 };
enum { REQUESTS_MOST = 1000, REQUESTS_PER_MINUTE = 1 };

/* ---- the network --------------------------------------------------------- */

/* Record the payload (taken) of an event of the network. */
static void record_network(struct sandbox_audit *audit, const char *type,
                           json_t *payload)
{
    if (audit_room_take(&audit->network_room, g_get_monotonic_time())) {
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

/* ---- requests ------------------------------------------------------------ */

enum { TEXT_MAX = 1024 }; /* bytes of a guest's text as JSON */

/* Return how many bytes of a text take at most TEXT_MAX in JSON. */
static size_t short_length(const char *text)
{
    size_t length = 0, size = 0;

    for (; text[length]; length++) {
        unsigned char byte = (unsigned char)text[length];

        size += byte < ' ' ? 6 : byte == '"' || byte == '\\' ? 2 : 1;
        if (size > TEXT_MAX)
            break;
    }
    /* Not within a character of UTF-8. */
    for (int i = 0; i < 3 && length > 0 && (text[length] & 0xc0) == 0x80; i++)
        length--;
    return length;
}

/* Shorten the texts of a request of the guest. */
static void shorten(json_t *members, const struct approval *approval)
{
    g_autofree char *path = approval->target.path
                                ? g_strndup(approval->target.path,
                                            short_length(approval->target.path))
                                : NULL;
    g_autofree char *reason = g_strndup(approval->reason,
                                        short_length(approval->reason));
    g_autofree char *valid = g_utf8_make_valid(reason, -1);

    if (path)
        json_object_set_new(members, "path", json_bytes_path(path));
    if (json_object_get(members, "reason"))
        json_object_set_new(members, "reason", json_string(valid));
}

/* The end of one that was not decided: the request has its own record. */
static json_t *undecided_to_json(json_t *members)
{
    return json_pack("{s:O, s:O, s:O, s:O}", "id",
                     json_object_get(members, "id"), "kind",
                     json_object_get(members, "kind"), "origin",
                     json_object_get(members, "origin"), "outcome",
                     json_object_get(members, "outcome"));
}

/* Those that a user has decided are always recorded. */
static void record_approval(struct sandbox_audit *audit,
                            const struct session_event *event)
{
    const struct approval *approval = event->approval;
    bool by_guest = strcmp(approval->origin, "guest") == 0;
    bool decided = approval->outcome == APPROVAL_ALLOWED ||
                   approval->outcome == APPROVAL_DENIED;
    json_t *members;

    if (by_guest && !decided &&
        !audit_room_take(&audit->request_room, g_get_monotonic_time())) {
        audit_writer_skip(audit->events, 1);
        return;
    }
    members = event_payload_to_json(event);
    if (by_guest)
        shorten(members, approval);
    if (!decided && approval->outcome != APPROVAL_PENDING) {
        json_t *rest = undecided_to_json(members);

        json_decref(members);
        members = rest;
    }
    audit_writer_add(audit->events, event_name(event) + strlen("event."),
                     members);
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
    case SESSION_EVENT_APPROVAL:
        record_approval(audit, event);
        return true;
    case SESSION_EVENT_ERROR:
    case SESSION_EVENT_COPY:
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
    gint64 now = g_get_monotonic_time();

    audit->session = session;
    audit->events = audit_writer_new(AUDIT_EVENTS, sandbox, session);
    audit->network = audit_writer_new(AUDIT_NETWORK, sandbox, session);
    audit->network_room = audit_room_new(NETWORK_MOST, NETWORK_PER_MINUTE, now);
    audit->request_room = audit_room_new(REQUESTS_MOST, REQUESTS_PER_MINUTE,
                                         now);
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
