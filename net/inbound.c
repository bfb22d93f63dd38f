/* SPDX-License-Identifier: Apache-2.0
 *
 * inbound - see inbound.h.
 */
#include "net/inbound.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "common/errors.h"
#include "common/fd.h"
#include "net/inbound_tcp.h"
#include "net/inbound_udp.h"
#include "net/neighbours.h"
#include "net/rejection.h"

enum { DATAGRAMS_PER_ROUND = 64 };

static const uint8_t guest[4] = { 10, 0, 2, 15 };

struct port {
    struct inbound *inbound;
    gint64 id;
    unsigned guest_port;
    struct slirp_stack *stack; /* of TCP */
    struct inbound_udp *udp;
    guint first_fd, end_fd; /* range in the polled fds */
};

struct inbound {
    const struct inbound_callbacks *callbacks;
    void *opaque;
    unsigned limit;
    GPtrArray *ports;        /* of struct port */
    GHashTable *connections; /* inbound_tcp.h */
    bool is_full;
    bool has_mac;
    uint8_t mac[FRAME_MAC];          /* the guest's */
    uint8_t published[65536 / 8];    /* TCP ports of the guest, ever */
    uint8_t buffer[FRAME_WHOLE_MAX]; /* a frame for the guest */
};

/* ---- frames for the guest ------------------------------------------------ */

static void send_buffer(struct inbound *inbound, size_t length)
{
    struct frame frame;

    if (frame_parse(inbound->buffer, length, &frame))
        inbound->callbacks->send(&frame, inbound->opaque);
}

/* Pass what slirp sends in a port's own connections, and its search for the
 * guest's hardware address. */
static void on_slirp_frame(const uint8_t *data, size_t length, void *opaque)
{
    struct port *port = opaque;
    struct inbound *inbound = port->inbound;
    struct inbound_connection *connection = NULL;
    struct frame frame;

    if (length > sizeof(inbound->buffer))
        return;
    memcpy(inbound->buffer, data, length);
    if (!frame_parse(inbound->buffer, length, &frame) ||
        frame.type == FRAME_IPV6)
        return;
    if (frame.type == FRAME_IPV4) {
        if (frame.protocol != FRAME_TCP || !frame.first ||
            memcmp(frame.target.bytes, guest, sizeof(guest)) != 0)
            return;
        connection = inbound_tcp_find(inbound->connections, &frame, true);
        if (!connection || connection->port != port)
            return;
    }
    inbound->callbacks->send(&frame, inbound->opaque);
}

/* ---- connections --------------------------------------------------------- */

static void on_opened(int fd, void *opaque)
{
    struct port *port = opaque;

    if (!inbound_tcp_add(port->inbound->connections, fd, port->guest_port,
                         port))
        shutdown(fd, SHUT_RDWR);
}

static gboolean has_fd(gpointer key, gpointer value, gpointer fd)
{
    return ((struct inbound_connection *)value)->fd == GPOINTER_TO_INT(fd);
}

static void on_closed(int fd, void *opaque)
{
    struct port *port = opaque;

    g_hash_table_foreach_remove(port->inbound->connections, has_fd,
                                GINT_TO_POINTER(fd));
}

static const struct slirp_stack_inbound stack_callbacks = {
    .send = on_slirp_frame,
    .opened = on_opened,
    .closed = on_closed,
};

static gboolean reset_if_of_port(gpointer key, gpointer value, gpointer data)
{
    struct inbound_connection *connection = value;
    struct port *port = data;
    size_t length;

    if (connection->port != port)
        return FALSE;
    length = inbound_tcp_reset(connection, port->inbound->buffer);
    if (length > 0)
        send_buffer(port->inbound, length);
    return TRUE;
}

/* ---- ports --------------------------------------------------------------- */

static void free_port(gpointer data)
{
    struct port *port = data;

    g_hash_table_foreach_remove(port->inbound->connections, reset_if_of_port,
                                port);
    slirp_stack_free(port->stack);
    if (port->udp)
        fd_close(&port->udp->fd);
    g_free(port->udp);
    g_free(port);
}

struct inbound *inbound_new(unsigned limit,
                            const struct inbound_callbacks *callbacks,
                            void *opaque)
{
    struct inbound *inbound = g_new0(struct inbound, 1);

    inbound->limit = limit;
    inbound->callbacks = callbacks;
    inbound->opaque = opaque;
    inbound->ports = g_ptr_array_new_with_free_func(free_port);
    inbound->connections = inbound_tcp_new();
    return inbound;
}

void inbound_free(struct inbound *inbound)
{
    if (!inbound)
        return;
    g_ptr_array_unref(inbound->ports);
    g_hash_table_unref(inbound->connections);
    g_free(inbound);
}

static struct port *find_port(struct inbound *inbound, gint64 id,
                              guint *ret_index)
{
    for (guint i = 0; i < inbound->ports->len; i++) {
        struct port *port = g_ptr_array_index(inbound->ports, i);

        if (port->id == id) {
            *ret_index = i;
            return port;
        }
    }
    return NULL;
}

static int get_option(int fd, int option)
{
    int value = -1;
    socklen_t length = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 ? value
                                                                    : -1;
}

static gboolean check(struct inbound *inbound, gint64 id, bool udp, int fd,
                      GError **error)
{
    guint index;

    if (get_option(fd, SO_DOMAIN) != AF_INET ||
        get_option(fd, SO_TYPE) != (udp ? SOCK_DGRAM : SOCK_STREAM) ||
        get_option(fd, SO_ACCEPTCONN) != !udp)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "published port: the socket is not a bound IPv4 "
                            "socket of this protocol");
    else if (find_port(inbound, id, &index))
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "published port: the id is in use");
    else if (inbound->ports->len == INBOUND_PORTS)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "a guest can have at most %d published ports; remove one",
                    INBOUND_PORTS);
    else
        return TRUE;
    return FALSE;
}

static void announce(struct port *port)
{
    uint8_t announcement[NEIGHBOURS_FRAME], data[FRAME_HEADER] = { 0 };
    struct frame frame = { .data = data };

    if (!port->stack || !port->inbound->has_mac)
        return;
    memcpy(data + FRAME_MAC, port->inbound->mac, FRAME_MAC);
    memcpy(frame.source.bytes, guest, sizeof(guest));
    slirp_stack_input(port->stack, announcement,
                      neighbours_announce(&frame, announcement));
}

gboolean inbound_add(struct inbound *inbound, gint64 id, bool udp,
                     unsigned guest_port, int fd, GError **error)
{
    struct port *port;

    if (!check(inbound, id, udp, fd, error)) {
        fd_close(&fd);
        return FALSE;
    }
    port = g_new0(struct port, 1);
    port->inbound = inbound;
    port->id = id;
    port->guest_port = guest_port;
    if (udp) {
        port->udp = g_new0(struct inbound_udp, 1);
        port->udp->fd = fd;
        port->udp->guest_port = guest_port;
    } else {
        port->stack = slirp_stack_new_inbound(fd, guest_port, &stack_callbacks,
                                              port, error);
        if (!port->stack) {
            g_free(port);
            return FALSE;
        }
        inbound->published[guest_port / 8] |= (uint8_t)(1 << guest_port % 8);
    }
    announce(port);
    g_ptr_array_add(inbound->ports, port);
    return TRUE;
}

gboolean inbound_remove(struct inbound *inbound, gint64 id, GError **error)
{
    guint index;

    if (!find_port(inbound, id, &index)) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_NOT_FOUND,
                            "published port: no port has this id");
        return FALSE;
    }
    g_ptr_array_remove_index(inbound->ports, index);
    return TRUE;
}

/* ---- frames of the guest ------------------------------------------------- */

void inbound_meet(struct inbound *inbound, const struct frame *frame)
{
    const uint8_t *mac = frame->data + FRAME_MAC;

    if (frame->source.v6 || memcmp(frame->source.bytes, guest, 4) != 0 ||
        (inbound->has_mac && memcmp(inbound->mac, mac, FRAME_MAC) == 0))
        return;
    inbound->has_mac = true;
    memcpy(inbound->mac, mac, FRAME_MAC);
    for (guint i = 0; i < inbound->ports->len; i++)
        announce(g_ptr_array_index(inbound->ports, i));
}

static bool is_published(const struct inbound *inbound,
                         const struct frame *frame)
{
    return inbound->published[frame->source_port / 8] >>
               frame->source_port % 8 &
           1;
}

/* Without ACK, a SYN would open a connection; with it, it accepts one. */
static bool is_opening(const struct frame *frame)
{
    return (frame->tcp_flags & (FRAME_SYN | FRAME_ACK)) == FRAME_SYN;
}

static bool take_segment(struct inbound *inbound, const struct frame *frame)
{
    struct inbound_connection *connection;

    if (!is_published(inbound, frame) || is_opening(frame))
        return false;
    connection = inbound_tcp_find(inbound->connections, frame, false);
    if (!connection)
        return false;
    inbound_tcp_note(connection, frame);
    slirp_stack_input(((struct port *)connection->port)->stack, frame->data,
                      frame->length);
    return true;
}

static bool take_datagram(struct inbound *inbound, const struct frame *frame)
{
    int64_t now_ms = g_get_monotonic_time() / 1000;

    for (guint i = 0; i < inbound->ports->len; i++) {
        struct port *port = g_ptr_array_index(inbound->ports, i);

        if (port->udp && port->guest_port == frame->source_port &&
            inbound_udp_send(port->udp, frame, now_ms))
            return true;
    }
    return false;
}

bool inbound_take(struct inbound *inbound, const struct frame *frame)
{
    if (inbound->ports->len == 0 || frame->type != FRAME_IPV4 ||
        frame->fragmented || memcmp(frame->source.bytes, guest, 4) != 0)
        return false;
    if (frame->protocol == FRAME_TCP)
        return take_segment(inbound, frame);
    return frame->protocol == FRAME_UDP && take_datagram(inbound, frame);
}

bool inbound_is_late(const struct inbound *inbound, const struct frame *frame)
{
    return frame->type == FRAME_IPV4 && frame->protocol == FRAME_TCP &&
           frame->first && is_published(inbound, frame) && !is_opening(frame);
}

/* ---- waiting ------------------------------------------------------------- */

/* The limit leaves no room for another connection: stop accepting. */
static void skip_listener(struct port *port, GArray *fds)
{
    int listener = slirp_stack_listener(port->stack);

    for (guint i = port->first_fd; i < port->end_fd; i++) {
        GPollFD *entry = &g_array_index(fds, GPollFD, i);

        if (entry->fd == listener)
            entry->events = 0;
    }
}

void inbound_fill(struct inbound *inbound, GArray *fds, int *timeout)
{
    /* Each port can accept a connection before the next check. */
    bool full = 2 * inbound->ports->len +
                    g_hash_table_size(inbound->connections) >
                inbound->limit;

    if (full && !inbound->is_full)
        inbound->callbacks->full(inbound->opaque);
    inbound->is_full = full;
    for (guint i = 0; i < inbound->ports->len; i++) {
        struct port *port = g_ptr_array_index(inbound->ports, i);

        port->first_fd = fds->len;
        if (port->stack) {
            slirp_stack_fill(port->stack, fds, timeout);
        } else {
            GPollFD entry = { .fd = port->udp->fd, .events = G_IO_IN };

            g_array_append_val(fds, entry);
        }
        port->end_fd = fds->len;
        if (full && port->stack)
            skip_listener(port, fds);
    }
}

static void receive(struct port *port)
{
    struct inbound *inbound = port->inbound;
    int64_t now_ms = g_get_monotonic_time() / 1000;

    for (int i = 0; i < DATAGRAMS_PER_ROUND; i++) {
        size_t length = inbound_udp_receive(port->udp, inbound->mac, now_ms,
                                            inbound->buffer);

        if (length == 0)
            break;
        /* A guest that has not sent a frame yet has no hardware address. */
        if (inbound->has_mac)
            send_buffer(inbound, length);
    }
}

void inbound_poll(struct inbound *inbound, GArray *fds, bool failed)
{
    for (guint i = 0; i < inbound->ports->len; i++) {
        struct port *port = g_ptr_array_index(inbound->ports, i);

        if (port->stack)
            slirp_stack_poll(port->stack, fds, failed);
        else if (!failed && g_array_index(fds, GPollFD, port->first_fd).revents)
            receive(port);
    }
}
