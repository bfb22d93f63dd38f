/* SPDX-License-Identifier: Apache-2.0
 *
 * inbound_udp - see inbound_udp.h.
 */
#include "net/inbound_udp.h"

#include <string.h>
#include <sys/socket.h>

#include "net/inbound_peer.h"

enum { UDP_HEADER = 8, HOPS = 64 };

enum { HEADERS = FRAME_HEADER + FRAME_IPV4_HEADER + UDP_HEADER };

/* ---- peers --------------------------------------------------------------- */

static bool is_live(const struct inbound_peer *peer, int64_t now_ms)
{
    return peer->used_ms && now_ms - peer->used_ms < INBOUND_UDP_PEER_MS;
}

/* Note a peer, in place of the one that was idle the longest if there are too
 * many. Two peers that the guest sees as one (127.0.0.1 and 127.0.0.2 with the
 * same port) replace each other. */
static void note_peer(struct inbound_udp *udp, const struct sockaddr_in *from,
                      int64_t now_ms)
{
    struct network_address wanted = inbound_peer_address(from), found;
    size_t at = 0;

    for (size_t i = 0; i < INBOUND_UDP_PEERS; i++) {
        struct inbound_peer *peer = &udp->peers[i];

        found = inbound_peer_address(&peer->address);
        if (peer->used_ms && peer->address.sin_port == from->sin_port &&
            memcmp(found.bytes, wanted.bytes, 4) == 0) {
            at = i;
            break;
        }
        if (peer->used_ms < udp->peers[at].used_ms)
            at = i;
    }
    udp->peers[at] = (struct inbound_peer){ *from, now_ms };
}

static struct inbound_peer *find_peer(struct inbound_udp *udp,
                                      const struct frame *frame, int64_t now_ms)
{
    struct network_address found;

    for (size_t i = 0; i < INBOUND_UDP_PEERS; i++) {
        struct inbound_peer *peer = &udp->peers[i];

        if (!is_live(peer, now_ms) ||
            ntohs(peer->address.sin_port) != frame->target_port)
            continue;
        found = inbound_peer_address(&peer->address);
        if (memcmp(found.bytes, frame->target.bytes, 4) == 0)
            return peer;
    }
    return NULL;
}

/* ---- frames -------------------------------------------------------------- */

/* Write the headers in front of length bytes of data. */
static void put_headers(struct inbound_udp *udp, const uint8_t *mac,
                        const struct sockaddr_in *from, size_t length,
                        uint8_t *out)
{
    static const uint8_t own_mac[FRAME_MAC] = { 0x52, 0x55, 10, 0, 2, 2 };
    static const uint8_t guest[4] = { 10, 0, 2, 15 };
    uint8_t *ip = out + FRAME_HEADER, *head = ip + FRAME_IPV4_HEADER;
    struct network_address source = inbound_peer_address(from);
    unsigned sum;

    memset(out, 0, HEADERS);
    memcpy(out, mac, FRAME_MAC);
    memcpy(out + FRAME_MAC, own_mac, FRAME_MAC);
    frame_put16(out + 12, FRAME_IPV4);
    ip[0] = 0x45;
    frame_put16(ip + 2, (unsigned)length + FRAME_IPV4_HEADER + UDP_HEADER);
    frame_put16(ip + 4, ++udp->packet & 0xffff);
    ip[8] = HOPS;
    ip[9] = FRAME_UDP;
    memcpy(ip + 12, source.bytes, 4);
    memcpy(ip + 16, guest, 4);
    frame_put16(ip + 10,
                ~frame_fold(frame_sum(0, ip, FRAME_IPV4_HEADER)) & 0xffff);
    frame_put16(head, ntohs(from->sin_port));
    frame_put16(head + 2, udp->guest_port);
    frame_put16(head + 4, (unsigned)length + UDP_HEADER);
    sum = frame_sum(FRAME_UDP + UDP_HEADER + (uint32_t)length, ip + 12, 8);
    sum = ~frame_fold(frame_sum(sum, head, UDP_HEADER + length)) & 0xffff;
    frame_put16(head + 6, sum ? sum : 0xffff); /* 0: no checksum */
}

size_t inbound_udp_receive(struct inbound_udp *udp, const uint8_t *mac,
                           int64_t now_ms, uint8_t buffer[FRAME_WHOLE_MAX])
{
    struct sockaddr_in from = { 0 };
    socklen_t length = sizeof(from);
    ssize_t n = recvfrom(udp->fd, buffer + HEADERS, FRAME_WHOLE_MAX - HEADERS,
                         MSG_DONTWAIT, (struct sockaddr *)&from, &length);

    if (n < 0 || from.sin_family != AF_INET || from.sin_port == 0)
        return 0;
    note_peer(udp, &from, now_ms);
    put_headers(udp, mac, &from, (size_t)n, buffer);
    return HEADERS + (size_t)n;
}

bool inbound_udp_send(struct inbound_udp *udp, const struct frame *frame,
                      int64_t now_ms)
{
    struct inbound_peer *peer = find_peer(udp, frame, now_ms);
    const uint8_t *head = frame->data + frame->payload;
    size_t length = frame_get16(head + 4);

    if (!peer)
        return false;
    peer->used_ms = now_ms;
    if (length >= UDP_HEADER && length <= frame->payload_length)
        sendto(udp->fd, head + UDP_HEADER, length - UDP_HEADER,
               MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&peer->address,
               sizeof(peer->address));
    return true;
}
