/* SPDX-License-Identifier: Apache-2.0
 *
 * bus_json - see bus_json.h.
 */
#include "agent/wire/bus_json.h"

#include "agent/machine/session_bus.h"
#include "agent/wire/payload.h"

gboolean bus_from_json(json_t *payload, struct session_config *config,
                       GError **error)
{
    json_t *list = json_object_get(payload, "session_bus"), *rule;
    size_t i;

    if (!list)
        return TRUE;
    if (!json_is_array(list) || json_array_size(list) > SESSION_BUS_MAX_RULES)
        return payload_invalid("session_bus",
                               "must be a list of up to 64 rules", error);
    config->session_bus = g_new0(char *, json_array_size(list) + 1);
    json_array_foreach(list, i, rule)
    {
        if (!json_is_string(rule))
            return payload_invalid("session_bus", "must be a list of rules",
                                   error);
        config->session_bus[i] = g_strdup(json_string_value(rule));
    }
    return TRUE;
}

void bus_add_json(json_t *payload, const struct session_config *config)
{
    json_t *list;

    if (!config->session_bus)
        return;
    list = json_array();
    for (char **rule = config->session_bus; *rule; rule++)
        json_array_append_new(list, json_string(*rule));
    json_object_set_new(payload, "session_bus", list);
}
