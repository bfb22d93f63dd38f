/* SPDX-License-Identifier: Apache-2.0
 *
 * published_ports - the sockets of a machine's published ports.
 *
 * The supervisor binds them, and stepback-net accepts from them (network.h):
 * that process is closest to the guest, and must not be able to listen. The
 * sockets stay open here as well, so that a second start of the machine finds
 * its ports.
 */
#ifndef AGENT_MACHINE_PUBLISHED_PORTS_H
#define AGENT_MACHINE_PUBLISHED_PORTS_H

#include <glib.h>

#include "agent/base/port_spec.h"

struct published_ports;

struct published_port {
    struct port_spec spec;
    gint64 id; /* for the network process */
    int fd;
};

struct published_ports *published_ports_new(void);
/* Close all sockets. NULL is allowed. */
void published_ports_free(struct published_ports *ports);

/* Bind a port. Return it, with its port of the host; borrowed until it is
 * removed. NULL and error on failure: ERROR_PORT_PUBLISHED, ERROR_PORT_TAKEN,
 * ERROR_PORT_PRIVILEGED, ERROR_INVALID_FIELD, ERROR_IO_ERROR. */
const struct published_port *published_ports_add(struct published_ports *ports,
                                                 const struct port_spec *spec,
                                                 GError **error);

/* Find a port by protocol, address and port of the host. NULL: none. */
const struct published_port *
published_ports_find(const struct published_ports *ports,
                     const struct port_spec *spec);

/* Close a port's socket in this process. */
void published_ports_remove(struct published_ports *ports, gint64 id);
void published_ports_clear(struct published_ports *ports);

unsigned published_ports_count(const struct published_ports *ports);
const struct published_port *
published_ports_get(const struct published_ports *ports, unsigned index);

#endif
