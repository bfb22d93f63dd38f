/* SPDX-License-Identifier: Apache-2.0
 *
 * port_spec - a published port: a port of the host that leads to one of the
 * guest.
 */
#ifndef AGENT_BASE_PORT_SPEC_H
#define AGENT_BASE_PORT_SPEC_H

#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>

enum { PORT_SPEC_MAX = 64 }; /* ports of a session, as in net/inbound.h */

struct port_spec {
    bool udp;
    struct in_addr address; /* of the host */
    guint16 host_port;      /* 0: any free one, until it is bound */
    guint16 guest_port;
};

/* Parse [ADDR:]HOST:GUEST[/tcp|/udp]. HOST may be empty or 0; ADDR is an IPv4
 * address, and 127.0.0.1 if missing. ERROR_INVALID_FIELD with the remedy. */
gboolean port_spec_parse(const char *text, struct port_spec *ret_spec,
                         GError **error);

/* Parse an IPv4 address. ERROR_INVALID_FIELD. */
gboolean port_spec_parse_address(const char *text, struct in_addr *ret_address,
                                 GError **error);

/* Parse "tcp" or "udp". ERROR_INVALID_FIELD. */
gboolean port_spec_parse_protocol(const char *text, bool *ret_udp,
                                  GError **error);

const char *port_spec_protocol(const struct port_spec *spec);

/* Format the host's side into text, and return text: "127.0.0.1:8080/tcp". */
enum { PORT_SPEC_TEXT = INET_ADDRSTRLEN + sizeof(":65535/tcp") };
const char *port_spec_format(const struct port_spec *spec,
                             char text[PORT_SPEC_TEXT]);

/* Return whether both have the same protocol, address and port of the host. */
bool port_spec_same_host(const struct port_spec *one,
                         const struct port_spec *other);

#endif
