/* SPDX-License-Identifier: Apache-2.0
 *
 * event_json - see event_json.h.
 */
#include "agent/wire/event_json.h"

#include <string.h>

#include "agent/client/report_json.h"
#include "agent/wire/approval_json.h"
#include "agent/wire/error_json.h"
#include "common/json_bytes.h"
#include "common/message.h"

/* ---- commands and steps -------------------------------------------------- */

static json_t *started_to_json(const struct session_event *event)
{
    json_t *payload = json_pack("{s:I, s:s}", "step_id",
                                (json_int_t)event->step_id, "type", "command");

    json_bytes_set(payload, "command", event->command->text,
                   strlen(event->command->text));
    return payload;
}

static json_t *output_to_json(const struct session_event *event)
{
    const struct command_output *output = event->output;
    json_t *payload = json_pack("{s:I, s:s}", "step_id",
                                (json_int_t)output->step_id, "stream",
                                output->is_stderr ? "stderr" : "stdout");

    json_bytes_set(payload, "data", output->data, output->len);
    return payload;
}

static json_t *history_to_json(const struct session_event *event)
{
    json_t *payload = json_pack("{s:s, s:o}", "operation", event->operation,
                                "steps", reports_to_json(event->steps));

    if (event->truncated)
        json_object_set_new(payload, "truncated", json_true());
    return payload;
}

/* ---- other events -------------------------------------------------------- */

static json_t *copy_relayed(json_t *relayed, const char *directory)
{
    json_t *payload = relayed ? json_deep_copy(relayed) : json_object();

    label_json(payload, directory);
    return payload;
}

json_t *warning_to_json(const struct folder_warning *warning)
{
    if (warning->relayed)
        return copy_relayed(warning->relayed, warning->directory);
    if (!warning->paths)
        return json_pack("{s:s*, s:s*, s:s*}", "code", warning->code, "message",
                         warning->message, "directory", warning->directory);
    return json_pack(
        "{s:s*, s:s*, s:o, s:I, s:s*, s:I}", "code", warning->code, "message",
        warning->message, "paths", paths_to_json(warning->paths), "count",
        (json_int_t)warning->count, "directory", warning->directory, "step_id",
        (json_int_t)warning->step_id);
}

static json_t *copy_end_to_json(const struct copy_end *copy)
{
    json_t *payload = json_pack(
        "{s:I, s:I, s:I, s:I}", "transfer_id", (json_int_t)copy->id, "bytes",
        (json_int_t)MIN(copy->bytes, G_MAXINT64), "entries",
        (json_int_t)MIN(copy->entries, G_MAXINT64), "skipped",
        (json_int_t)MIN(copy->skipped, G_MAXINT64));

    if (copy->error)
        json_object_set_new(payload, "error", error_to_json(copy->error));
    return payload;
}

static json_t *relayed_to_json(const struct session_event *event)
{
    json_t *payload = copy_relayed(event->payload, event->directory);

    if (event->safeguard_id)
        json_object_set_new(payload, "safeguard_id",
                            json_string(event->safeguard_id));
    if (event->reason)
        json_object_set_new(payload, "reason", json_string(event->reason));
    return payload;
}

json_t *event_payload_to_json(const struct session_event *event)
{
    switch (event->type) {
    case SESSION_EVENT_STEP_STARTED:
        return started_to_json(event);
    case SESSION_EVENT_OUTPUT:
        return output_to_json(event);
    case SESSION_EVENT_STEP_COMPLETED:
        return report_to_json(event->report);
    case SESSION_EVENT_HISTORY:
        return history_to_json(event);
    case SESSION_EVENT_WARNING:
        return warning_to_json(event->warning);
    case SESSION_EVENT_ERROR:
        return error_to_json(event->error);
    case SESSION_EVENT_COPY:
        return copy_end_to_json(event->copy);
    case SESSION_EVENT_APPROVAL:
        return approval_to_json(event->approval);
    case SESSION_EVENT_RELAYED:
        break;
    }
    return relayed_to_json(event);
}

const char *event_name(const struct session_event *event)
{
    switch (event->type) {
    case SESSION_EVENT_STEP_STARTED:
        return "event.step_started";
    case SESSION_EVENT_OUTPUT:
        return event->command->is_prompt ? "event.agent_output"
                                         : "event.terminal_output";
    case SESSION_EVENT_STEP_COMPLETED:
        return "event.step_completed";
    case SESSION_EVENT_HISTORY:
        return "event.history_changed";
    case SESSION_EVENT_WARNING:
        return "event.warning";
    case SESSION_EVENT_ERROR:
        return "event.error";
    case SESSION_EVENT_COPY:
        return "event.copy_completed";
    case SESSION_EVENT_APPROVAL:
        return event->approval->outcome == APPROVAL_PENDING
                   ? "event.approval_requested"
                   : "event.approval_decided";
    case SESSION_EVENT_RELAYED:
        break;
    }
    return event->name;
}

json_t *event_to_json(const struct session_event *event)
{
    return message_event(event_name(event), event_payload_to_json(event));
}
