/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_bus - see cli_bus.h.
 */
#include "agent/cli/cli_bus.h"

#include "agent/cli/cli_place.h"
#include "agent/machine/session_bus.h"

char **cli_bus_rules(char *const *options)
{
    GPtrArray *rules;

    if (!options)
        return NULL;
    rules = g_ptr_array_new();
    for (; *options; options++) {
        g_autofree char **parts = g_strsplit(*options, ",", -1);

        /* An empty option is an empty rule, and not none. */
        if (!*parts)
            g_ptr_array_add(rules, g_strdup(""));
        for (char **part = parts; *part; part++)
            g_ptr_array_add(rules, *part);
    }
    g_ptr_array_add(rules, NULL);
    return (char **)g_ptr_array_free(rules, FALSE);
}

char *cli_bus_problem(char *const *options)
{
    g_auto(GStrv) rules = cli_bus_rules(options);

    return rules ? session_bus_problem(rules) : NULL;
}

bool cli_bus_matches(char *const *options, json_t *session)
{
    g_auto(GStrv) rules = cli_bus_rules(options);
    json_t *actual = json_object_get(session, "session_bus"), *rule;
    size_t i;

    if (!rules)
        return true;
    if (json_array_size(actual) != g_strv_length(rules))
        return false;
    json_array_foreach(actual, i, rule)
    {
        if (!g_strv_contains((const char *const *)rules,
                             json_string_value(rule)))
            return false;
    }
    return true;
}

void cli_bus_warn(json_t *session)
{
    g_autoptr(GPtrArray) rules = g_ptr_array_new(), warnings = NULL;
    json_t *list = json_object_get(session, "session_bus"), *rule;
    size_t i;

    json_array_foreach(list, i, rule)
    {
        if (json_is_string(rule))
            g_ptr_array_add(rules, (char *)json_string_value(rule));
    }
    g_ptr_array_add(rules, NULL);
    warnings = session_bus_warnings((char *const *)rules->pdata);
    for (guint n = 0; n < warnings->len; n++)
        cli_place_warn(warnings->pdata[n]);
}
