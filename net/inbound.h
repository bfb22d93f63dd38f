/* SPDX-License-Identifier: Apache-2.0
 *
 * inbound - published ports: connections and datagrams from the host to ports
 * of the guest.
 *
 *     client === socket of the supervisor - TCP: a slirp_stack for each port
 *                                         - UDP: inbound_udp    --- guest
 *
 * The supervisor binds each socket and hands it over (port_socket.h), because
 * this process may neither bind nor listen. 10.0.2.15 is the guest; it sees a
 * client by the client's own address, and one on the host's loopback as
 * 10.0.2.2.
 *
 * A published port works under every policy, and opens no way out: a frame of
 * the guest belongs to a port only if its addresses and ports are those of an
 * accepted connection, or of a recent peer (inbound_udp.h). A SYN never does.
 * All other frames are judged by the policy.
 *
 * Bounds: INBOUND_PORTS ports; connections and ports together take
 * SHARE_INBOUND files. Further connections wait in the kernel's backlog.
 *
 * Threads: one.
 */
#ifndef NET_INBOUND_H
#define NET_INBOUND_H

#include <glib.h>

#include "net/frame.h"
#include "net/slirp_stack.h"

enum { INBOUND_PORTS = 64 };

struct inbound;

struct inbound_callbacks {
    /* A frame for the guest (borrowed), of any length. */
    void (*send)(struct frame *frame, void *opaque);
    /* A client has to wait, because the limit of files is reached. */
    void (*full)(void *opaque);
};

/* limit: of files. callbacks is borrowed. */
struct inbound *inbound_new(unsigned limit,
                            const struct inbound_callbacks *callbacks,
                            void *opaque);
void inbound_free(struct inbound *inbound);

/* Forward what arrives at fd (taken): a listening socket, or a UDP socket. id
 * names the port for inbound_remove(). Fails with ERROR_INVALID_FIELD or
 * ERROR_IO_ERROR. */
gboolean inbound_add(struct inbound *inbound, gint64 id, bool udp,
                     unsigned guest_port, int fd, GError **error);

/* Close a port's socket, and reset its connections at both ends. Fails with
 * ERROR_NOT_FOUND. */
gboolean inbound_remove(struct inbound *inbound, gint64 id, GError **error);

/* Learn the guest's hardware address from any frame of it. */
void inbound_meet(struct inbound *inbound, const struct frame *frame);

/* Forward a frame of the guest if it belongs to a published port. Return false
 * if it does not. */
bool inbound_take(struct inbound *inbound, const struct frame *frame);

/* Return whether a frame belongs to a TCP connection of a port that is or was
 * published, and has ended. */
bool inbound_is_late(const struct inbound *inbound, const struct frame *frame);

/* Like slirp_stack_fill() and slirp_stack_poll(). */
void inbound_fill(struct inbound *inbound, GArray *fds, int *timeout);
void inbound_poll(struct inbound *inbound, GArray *fds, bool failed);

#endif
