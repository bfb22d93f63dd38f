/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_ports - the ports at which programs of the guest listen, as its shim
 * reports them (WIRE_PORT in shim/wire.h).
 *
 * The guest may lie, so the reports are information for people and clients, and
 * nothing is published because of them. At most WIRE_PORTS_MAX ports are kept,
 * and at most GUEST_PORTS_NEWS reports are accepted in a second.
 */
#ifndef AGENT_MACHINE_GUEST_PORTS_H
#define AGENT_MACHINE_GUEST_PORTS_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "common/network_address.h"
#include "shim/wire.h"

enum { GUEST_PORTS_NEWS = 4 * WIRE_PORTS_MAX };

struct guest_port {
    struct network_address address;
    guint16 port; /* of TCP */
};

struct guest_port_news {
    struct guest_port port;
    bool open;
};

/* All 0: empty. */
struct guest_ports {
    struct guest_port list[WIRE_PORTS_MAX];
    unsigned count;
    gint64 second;
    unsigned news; /* in that second */
};

/* Parse the shim's message. ERROR_INVALID_FIELD. */
gboolean guest_ports_parse(json_t *message, struct guest_port_news *ret_news,
                           GError **error);

enum guest_ports_verdict {
    GUEST_PORTS_CHANGED,
    GUEST_PORTS_SAME,
    GUEST_PORTS_TOO_MANY, /* ignored */
};

/* Apply the news at this time (monotonic, us). */
enum guest_ports_verdict guest_ports_note(struct guest_ports *ports,
                                          const struct guest_port_news *news,
                                          gint64 now_us);

/* Return {"port", "protocol", "address"}: the payload of event.port_opened and
 * event.port_closed. */
json_t *guest_ports_to_json(const struct guest_port *port);

#endif
