/* SPDX-License-Identifier: Apache-2.0
 *
 * published_ports - see published_ports.h.
 */
#include "agent/machine/published_ports.h"

#include <errno.h>
#include <sys/socket.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"

enum { BACKLOG = 128 };

struct published_ports {
    GPtrArray *list; /* of struct published_port */
    gint64 last_id;
};

static void free_port(gpointer data)
{
    struct published_port *port = data;

    fd_close(&port->fd);
    g_free(port);
}

struct published_ports *published_ports_new(void)
{
    struct published_ports *ports = g_new0(struct published_ports, 1);

    ports->list = g_ptr_array_new_with_free_func(free_port);
    return ports;
}

void published_ports_free(struct published_ports *ports)
{
    if (!ports)
        return;
    g_ptr_array_unref(ports->list);
    g_free(ports);
}

/* ---- sockets ------------------------------------------------------------- */

static void explain(const struct port_spec *spec, int code, GError **error)
{
    char text[PORT_SPEC_TEXT];

    port_spec_format(spec, text);
    switch (code) {
    case EADDRINUSE:
        g_set_error(error, STEPBACK_ERROR, ERROR_PORT_TAKEN,
                    "%s: another program uses this port; choose another one, "
                    "or 0 for any free port",
                    text);
        break;
    case EACCES:
        g_set_error(error, STEPBACK_ERROR, ERROR_PORT_PRIVILEGED,
                    "%s: ports below net.ipv4.ip_unprivileged_port_start need "
                    "a privilege; use a port from 1024, such as %u",
                    text, 8000u + spec->host_port);
        break;
    case EADDRNOTAVAIL:
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "%s: this host does not have the address; use 127.0.0.1, "
                    "or 0.0.0.0 for all addresses",
                    text);
        break;
    default:
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "%s: cannot publish the port: %s", text, g_strerror(code));
        break;
    }
}

/* Return a bound socket, and store its port; -1 and errno on failure. */
static int bind_port(struct port_spec *spec)
{
    int type = spec->udp ? SOCK_DGRAM : SOCK_STREAM, yes = 1;
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr = spec->address,
                                   .sin_port = htons(spec->host_port) };
    socklen_t length = sizeof(address);
    fd_auto int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 ||
        (!spec->udp &&
         setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0) ||
        bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        (!spec->udp && listen(fd, BACKLOG) < 0) ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        return -1;
    spec->host_port = ntohs(address.sin_port);
    return fd_steal(&fd);
}

/* ---- the list ------------------------------------------------------------ */

/* Return whether a port with this number covers an address of the other. */
static bool overlaps(const struct published_ports *ports,
                     const struct port_spec *spec)
{
    for (unsigned i = 0; i < ports->list->len; i++) {
        const struct port_spec *other = &published_ports_get(ports, i)->spec;

        if (other->udp == spec->udp && other->host_port == spec->host_port &&
            (other->address.s_addr == spec->address.s_addr ||
             other->address.s_addr == INADDR_ANY ||
             spec->address.s_addr == INADDR_ANY))
            return true;
    }
    return false;
}

static gboolean check(const struct published_ports *ports,
                      const struct port_spec *spec, GError **error)
{
    char text[PORT_SPEC_TEXT];

    if (spec->host_port && overlaps(ports, spec))
        g_set_error(error, STEPBACK_ERROR, ERROR_PORT_PUBLISHED,
                    "%s: this sandbox publishes the port already; remove it "
                    "first, or choose another one",
                    port_spec_format(spec, text));
    else if (ports->list->len == PORT_SPEC_MAX)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "a sandbox can publish at most %d ports; remove one first",
                    PORT_SPEC_MAX);
    else
        return TRUE;
    return FALSE;
}

const struct published_port *published_ports_add(struct published_ports *ports,
                                                 const struct port_spec *spec,
                                                 GError **error)
{
    struct port_spec bound = *spec;
    struct published_port *port;
    char text[PORT_SPEC_TEXT];
    int fd;

    if (!check(ports, spec, error))
        return NULL;
    fd = bind_port(&bound);
    if (fd < 0) {
        explain(spec, errno, error);
        return NULL;
    }
    port = g_new0(struct published_port, 1);
    *port = (struct published_port){ bound, ++ports->last_id, fd };
    g_ptr_array_add(ports->list, port);
    log_info(LOG_SESSION, "%s leads to port %u of the guest",
             port_spec_format(&bound, text), bound.guest_port);
    return port;
}

const struct published_port *
published_ports_find(const struct published_ports *ports,
                     const struct port_spec *spec)
{
    for (unsigned i = 0; i < ports->list->len; i++) {
        const struct published_port *port = published_ports_get(ports, i);

        if (port_spec_same_host(&port->spec, spec))
            return port;
    }
    return NULL;
}

void published_ports_remove(struct published_ports *ports, gint64 id)
{
    for (unsigned i = 0; i < ports->list->len; i++) {
        if (published_ports_get(ports, i)->id == id) {
            g_ptr_array_remove_index(ports->list, i);
            return;
        }
    }
}

void published_ports_clear(struct published_ports *ports)
{
    g_ptr_array_set_size(ports->list, 0);
}

unsigned published_ports_count(const struct published_ports *ports)
{
    return ports->list->len;
}

const struct published_port *
published_ports_get(const struct published_ports *ports, unsigned index)
{
    return g_ptr_array_index(ports->list, index);
}
