/* SPDX-License-Identifier: Apache-2.0
 *
 * port_json - published ports as JSON:
 *
 *     {"address":"127.0.0.1","host_port":8080,"guest_port":80,
 *      "protocol":"tcp"}
 */
#ifndef AGENT_WIRE_PORT_JSON_H
#define AGENT_WIRE_PORT_JSON_H

#include <glib.h>
#include <jansson.h>

#include "agent/base/port_spec.h"
#include "agent/machine/guest_ports.h"

/* Parse a port. address, protocol and host_port may be missing: 127.0.0.1, tcp,
 * and any free port. Without has_guest, there is no guest_port, and host_port
 * is required. Unknown members are ignored. ERROR_MISSING_FIELD,
 * ERROR_INVALID_FIELD. */
gboolean port_from_json(json_t *object, bool has_guest,
                        struct port_spec *ret_spec, GError **error);

/* Parse a list of such objects (NULL: empty), and append to ports (of struct
 * port_spec). The same errors, also for an unknown member. */
gboolean ports_from_json(json_t *list, GArray *ports, GError **error);

json_t *port_to_json(const struct port_spec *spec);
json_t *port_list_to_json(const GArray *ports);

/* Return the answer to port.list. */
json_t *ports_to_json(const GArray *published, const struct guest_ports *open);

#endif
