/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_ports - published ports on the command line.
 */
#ifndef AGENT_CLI_CLI_PORTS_H
#define AGENT_CLI_CLI_PORTS_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Parse the values of --publish (NULL: none) and append to ports (of struct
 * port_spec). ERROR_INVALID_FIELD. */
gboolean cli_ports_parse(char *const *values, GArray *ports, GError **error);

/* Print a table of the answer to port.list: the published ports, whether the
 * guest listens there, and the guest's other ports. */
void cli_ports_print(FILE *out, json_t *answer);

/* Print where the published ports (of struct port_spec) of a started machine
 * are, one a line. */
void cli_ports_report(const GArray *ports);

#endif
