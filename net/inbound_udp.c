/* SPDX-License-Identifier: Apache-2.0
 *
 * inbound_udp - see inbound_udp.h.
 */
#include "net/inbound_udp.h"

#include <string.h>
#include <sys/socket.h>

#include "net/inbound_peer.h"
#include "net/udp_frame.h"

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

/* Write the headers in front of length bytes of data. Return the frame's
 * length. */
static size_t put_headers(struct inbound_udp *udp, const uint8_t *mac,
                          const struct sockaddr_in *from, size_t length,
                          uint8_t *out)
{
    static const uint8_t own_mac[FRAME_MAC] = { 0x52, 0x55, 10, 0, 2, 2 };
    static const uint8_t guest[4] = { 10, 0, 2, 15 };
    struct network_address source = inbound_peer_address(from);
    struct udp_frame frame = {
        .source = source.bytes,
        .target = guest,
        .source_port = ntohs(from->sin_port),
        .target_port = udp->guest_port,
        .id = ++udp->packet,
    };

    memcpy(out, mac, FRAME_MAC);
    memcpy(out + FRAME_MAC, own_mac, FRAME_MAC);
    frame_put16(out + 12, FRAME_IPV4);
    return udp_frame_put(&frame, length, out);
}

size_t inbound_udp_receive(struct inbound_udp *udp, const uint8_t *mac,
                           int64_t now_ms, uint8_t buffer[FRAME_WHOLE_MAX])
{
    struct sockaddr_in from = { 0 };
    socklen_t length = sizeof(from);
    ssize_t n = recvfrom(udp->fd, buffer + UDP_FRAME_HEADERS,
                         FRAME_WHOLE_MAX - UDP_FRAME_HEADERS, MSG_DONTWAIT,
                         (struct sockaddr *)&from, &length);

    if (n < 0 || from.sin_family != AF_INET || from.sin_port == 0)
        return 0;
    note_peer(udp, &from, now_ms);
    return put_headers(udp, mac, &from, (size_t)n, buffer);
}

bool inbound_udp_send(struct inbound_udp *udp, const struct frame *frame,
                      int64_t now_ms)
{
    struct inbound_peer *peer = find_peer(udp, frame, now_ms);
    const uint8_t *data;
    size_t length;

    if (!peer)
        return false;
    peer->used_ms = now_ms;
    if (udp_frame_get(frame, &data, &length))
        sendto(udp->fd, data, length, MSG_DONTWAIT | MSG_NOSIGNAL,
               (struct sockaddr *)&peer->address, sizeof(peer->address));
    return true;
}
