/* SPDX-License-Identifier: Apache-2.0
 *
 * session_bus - see session_bus.h.
 */
#include "agent/machine/session_bus.h"

#include <unistd.h>

#include "agent/machine/bus_rule.h"
#include "agent/machine/session_config.h"
#include "common/errors.h"

char *session_bus_problem(char *const *rules)
{
    guint count = g_strv_length((char **)rules);

    if (count == 0)
        return g_strdup("has no rule; add NAME=INTERFACE.METHOD, or leave the "
                        "list out");
    if (count > SESSION_BUS_MAX_RULES)
        return g_strdup_printf("has more than %d rules; use INTERFACE.* "
                               "instead of single methods",
                               SESSION_BUS_MAX_RULES);
    for (; *rules; rules++) {
        char *problem = bus_rule_problem(*rules);

        if (problem)
            return problem;
    }
    return NULL;
}

GPtrArray *session_bus_warnings(char *const *rules)
{
    GPtrArray *warnings = g_ptr_array_new_with_free_func(g_free);

    for (; rules && *rules; rules++) {
        g_autofree char *warning = bus_rule_warning(*rules);

        if (warning && !g_ptr_array_find_with_equal_func(warnings, warning,
                                                         g_str_equal, NULL))
            g_ptr_array_add(warnings, g_steal_pointer(&warning));
    }
    return warnings;
}

static char *problem_of(const struct session_config *config)
{
    if (config->isolation != ISOLATION_LOCAL)
        return g_strdup("only for --isolation=local; a virtual machine has no "
                        "bus of the host");
    /* Also where sudo has left the address of another user's bus. */
    if (geteuid() == 0)
        return g_strdup("not for root, whose rights the services would use for "
                        "the sandbox; run stepback as the user of the session");
    return session_bus_problem(config->session_bus);
}

gboolean session_bus_check(const struct session_config *config, GError **error)
{
    g_autofree char *problem = config->session_bus ? problem_of(config) : NULL;

    if (!problem)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "--session-bus (\"session_bus\"): %s", problem);
    return FALSE;
}

char *const *session_bus_env(const struct session_config *config)
{
    static const char *const variables[] = {
        "DBUS_SESSION_BUS_ADDRESS=unix:path=" SESSION_BUS_SOCKET,
        NULL,
    };

    return config->session_bus ? (char *const *)variables : NULL;
}
