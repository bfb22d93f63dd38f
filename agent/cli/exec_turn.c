/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_turn - see exec_turn.h.
 */
#include "agent/cli/exec_turn.h"

#include <string.h>

static const char *state_of(json_t *execution)
{
    const char *state = json_string_value(json_object_get(execution, "state"));

    return state ? state : "";
}

bool exec_turn_waits(json_t *payload, gint64 id, gint64 *ret_blocker)
{
    bool waits = false;
    json_t *entry;
    size_t i;

    *ret_blocker = 0;
    json_array_foreach(json_object_get(payload, "executions"), i, entry)
    {
        gint64 entry_id = json_integer_value(json_object_get(entry, "exec_id"));

        if (entry_id == id)
            waits = strcmp(state_of(entry), "waiting") == 0;
        else if (strcmp(state_of(entry), "running") == 0 &&
                 json_object_get(entry, "step_id"))
            *ret_blocker = entry_id;
    }
    return waits;
}
