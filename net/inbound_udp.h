/* SPDX-License-Identifier: Apache-2.0
 *
 * inbound_udp - the datagrams of one published port.
 *
 * libslirp is not used: it sends whatever the guest's port sends to wherever
 * the guest likes, from the published socket. Here the guest can answer only
 * the last INBOUND_UDP_PEERS peers, each for INBOUND_UDP_PEER_MS after the
 * last datagram in either direction.
 */
#ifndef NET_INBOUND_UDP_H
#define NET_INBOUND_UDP_H

#include <netinet/in.h>

#include "net/frame.h"

enum { INBOUND_UDP_PEERS = 256, INBOUND_UDP_PEER_MS = 180000 };

struct inbound_udp {
    int fd; /* owned */
    unsigned guest_port;
    unsigned packet; /* the IPv4 identification of the last frame */
    struct inbound_peer {
        struct sockaddr_in address;
        int64_t used_ms; /* 0: empty */
    } peers[INBOUND_UDP_PEERS];
};

/* Receive one datagram and build a frame for the guest with the hardware
 * address mac in buffer. Return its length; 0 if there is no datagram. */
size_t inbound_udp_receive(struct inbound_udp *udp, const uint8_t *mac,
                           int64_t now_ms, uint8_t buffer[FRAME_WHOLE_MAX]);

/* Send the guest's datagram to its target, if that is a known peer. Return
 * false if it is not. */
bool inbound_udp_send(struct inbound_udp *udp, const struct frame *frame,
                      int64_t now_ms);

#endif
