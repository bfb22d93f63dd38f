/* SPDX-License-Identifier: Apache-2.0
 *
 * session_bus - the rules for the host's session bus in a local sandbox
 * (--session-bus), see bus_rule.h.
 *
 * A proxy of the sandbox's own filters the bus (agent/local/local_bus.h); no
 * other name is seen or reached.
 */
#ifndef AGENT_MACHINE_SESSION_BUS_H
#define AGENT_MACHINE_SESSION_BUS_H

#include <glib.h>

/* Where the sandbox has the proxy's socket. */
#define SESSION_BUS_SOCKET "/run/stepback/bus"

/* The event.warning code for a rule that hands out more than it says. */
#define SESSION_BUS_WARNING "session_bus"

enum { SESSION_BUS_MAX_RULES = 64 };

struct session_config;

/* Return the problem of a list of rules (NULL-terminated): a new string, or
 * NULL. */
char *session_bus_problem(char *const *rules);

/* Return the warnings about rules, each once: a new array of owned
 * strings. rules may be NULL. */
GPtrArray *session_bus_warnings(char *const *rules);

/* Check the rules. Only local isolation has the bus, and root has none:
 * ERROR_INVALID_FIELD. */
gboolean session_bus_check(const struct session_config *config, GError **error);

/* The variables of executions: static, or NULL. */
char *const *session_bus_env(const struct session_config *config);

#endif
