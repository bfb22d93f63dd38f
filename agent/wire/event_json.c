/* SPDX-License-Identifier: Apache-2.0
 *
 * event_json - see event_json.h.
 */
#include "agent/wire/event_json.h"

#include <string.h>

#include "agent/client/report_json.h"
#include "common/json_bytes.h"
#include "common/message.h"

static json_t *started_to_json(const struct session_event *event)
{
    json_t *payload = json_pack("{s:I, s:s}", "step_id",
                                (json_int_t)event->step_id, "type", "command");

    json_bytes_set(payload, "command", event->command->text,
                   strlen(event->command->text));
    return message_event("event.step_started", payload);
}

static json_t *output_to_json(const struct session_event *event)
{
    const struct command_output *output = event->output;
    json_t *payload = json_pack("{s:I, s:s}", "step_id",
                                (json_int_t)output->step_id, "stream",
                                output->is_stderr ? "stderr" : "stdout");

    json_bytes_set(payload, "data", output->data, output->len);
    return message_event(event->command->is_prompt ? "event.agent_output"
                                                   : "event.terminal_output",
                         payload);
}

static json_t *history_to_json(const struct session_event *event)
{
    json_t *payload = json_pack("{s:s, s:o}", "operation", event->operation,
                                "steps", reports_to_json(event->steps));

    if (event->truncated)
        json_object_set_new(payload, "truncated", json_true());
    return payload;
}

json_t *event_to_json(const struct session_event *event)
{
    switch (event->type) {
    case SESSION_EVENT_STEP_STARTED:
        return started_to_json(event);
    case SESSION_EVENT_OUTPUT:
        return output_to_json(event);
    case SESSION_EVENT_STEP_COMPLETED:
        return message_event("event.step_completed",
                             report_to_json(event->report));
    case SESSION_EVENT_HISTORY:
        return message_event("event.history_changed", history_to_json(event));
    case SESSION_EVENT_OTHER:
        break;
    }
    return message_event(event->name, json_incref(event->payload));
}
