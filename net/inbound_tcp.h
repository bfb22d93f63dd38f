/* SPDX-License-Identifier: Apache-2.0
 *
 * inbound_tcp - the connections that published ports have accepted.
 *
 * A connection is known by the guest's port and the client's address, as the
 * guest sees it; libslirp would confuse two connections that are equal in this,
 * so the second one is reset.
 */
#ifndef NET_INBOUND_TCP_H
#define NET_INBOUND_TCP_H

#include <glib.h>

#include "net/frame.h"

enum {
    INBOUND_TCP_HEADERS = FRAME_HEADER + FRAME_IPV4_HEADER + 20,
};

/* Compared as bytes, so padding must be 0. */
struct inbound_key {
    uint8_t peer[4];
    uint16_t peer_port, guest_port;
};

struct inbound_connection {
    struct inbound_key key;
    int fd;     /* slirp's */
    void *port; /* the accepting port; borrowed */
    /* The headers of the guest's last frame; their type is 0 before that. */
    uint8_t last[INBOUND_TCP_HEADERS];
};

/* Return a table of struct inbound_connection, which it owns, by their keys. */
GHashTable *inbound_tcp_new(void);

/* Add the connection that slirp has accepted as fd. Return false if its client
 * is gone, or is equal to another one. */
bool inbound_tcp_add(GHashTable *table, int fd, unsigned guest_port,
                     void *port);

/* Return the connection of a frame of the guest; to_guest: of a frame for the
 * guest. NULL if there is none. */
struct inbound_connection *
inbound_tcp_find(GHashTable *table, const struct frame *frame, bool to_guest);

/* Note the guest's frame, for inbound_tcp_reset(). */
void inbound_tcp_note(struct inbound_connection *connection,
                      const struct frame *frame);

/* Build a frame that resets the guest's end. Return its length; 0 if the guest
 * has not answered yet. ret_answer: of REJECTION_MAX bytes. */
size_t inbound_tcp_reset(struct inbound_connection *connection,
                         uint8_t *ret_answer);

#endif
