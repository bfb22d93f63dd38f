/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_ports - see guest_ports.h.
 */
#include "agent/machine/guest_ports.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/errors.h"
#include "common/message.h"

gboolean guest_ports_parse(json_t *message, struct guest_port_news *ret_news,
                           GError **error)
{
    struct guest_port_news news = { 0 };
    const char *address, *protocol;
    gint64 port, open;

    if (!message_get_int(message, "port", 1, G_MAXUINT16, &port, error) ||
        !message_get_int(message, "open", 0, 1, &open, error) ||
        !message_get_string(message, "protocol", &protocol, error) ||
        !message_get_string(message, "address", &address, error))
        return FALSE;
    news.port.address.v6 = strchr(address, ':') != NULL;
    if (strcmp(protocol, WIRE_TCP) != 0 ||
        inet_pton(news.port.address.v6 ? AF_INET6 : AF_INET, address,
                  news.port.address.bytes) != 1) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "a port without a known protocol or address");
        return FALSE;
    }
    news.port.port = (guint16)port;
    news.open = open != 0;
    *ret_news = news;
    return TRUE;
}

static bool is_same(const struct guest_port *one,
                    const struct guest_port *other)
{
    return one->port == other->port && one->address.v6 == other->address.v6 &&
           memcmp(one->address.bytes, other->address.bytes,
                  sizeof(one->address.bytes)) == 0;
}

/* Return the index of the port, or the count. */
static unsigned find(const struct guest_ports *ports,
                     const struct guest_port *port)
{
    unsigned i = 0;

    while (i < ports->count && !is_same(&ports->list[i], port))
        i++;
    return i;
}

enum guest_ports_verdict guest_ports_note(struct guest_ports *ports,
                                          const struct guest_port_news *news,
                                          gint64 now_us)
{
    unsigned at = find(ports, &news->port);

    if (ports->second != now_us / G_USEC_PER_SEC) {
        ports->second = now_us / G_USEC_PER_SEC;
        ports->news = 0;
    }
    if (++ports->news > GUEST_PORTS_NEWS)
        return GUEST_PORTS_TOO_MANY;
    if (news->open == (at < ports->count))
        return GUEST_PORTS_SAME;
    if (!news->open)
        ports->list[at] = ports->list[--ports->count];
    else if (ports->count == WIRE_PORTS_MAX)
        return GUEST_PORTS_TOO_MANY;
    else
        ports->list[ports->count++] = news->port;
    return GUEST_PORTS_CHANGED;
}

json_t *guest_ports_to_json(const struct guest_port *port)
{
    char address[INET6_ADDRSTRLEN];

    return json_pack("{s:i, s:s, s:s}", "port", (int)port->port, "protocol",
                     WIRE_TCP, "address",
                     network_address_format(&port->address, address));
}
