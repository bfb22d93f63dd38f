/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_ports - published ports on the command line.
 */
#ifndef AGENT_CLI_CLI_PORTS_H
#define AGENT_CLI_CLI_PORTS_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/base/port_spec.h"

/* Parse the values of --publish (NULL: none) and append to ports (of struct
 * port_spec). ERROR_INVALID_FIELD. */
gboolean cli_ports_parse(char *const *values, GArray *ports, GError **error);

/* Parse [ADDR:]HOST[:GUEST][/tcp|/udp]: the guest's port does not matter.
 * ERROR_INVALID_FIELD. */
gboolean cli_ports_parse_host(const char *text, struct port_spec *ret_spec,
                              GError **error);

/* Return whether each of the values of --publish is in a list of ports as JSON
 * (NULL: empty). */
bool cli_ports_are_in(char *const *values, json_t *list);

/* A port: "-" as host if it is not published. All borrowed. */
typedef void (*cli_ports_row)(const char *host, const char *guest,
                              const char *status, void *opaque);

/* Pass on each port of the answer to port.list: the published ones, with
 * whether the guest listens there, and then the guest's others. */
void cli_ports_list(json_t *answer, cli_ports_row row, void *opaque);

/* Print where the published ports (of struct port_spec) of a started machine
 * are, one a line. */
void cli_ports_report(const GArray *ports);

#endif
