/* SPDX-License-Identifier: Apache-2.0
 *
 * neighbours - see neighbours.h.
 */
#include "net/neighbours.h"

#include <string.h>

/* Build an ARP announcement: a request for the sender's own address (RFC 5227,
 * 3). */
static size_t announce_ipv4(const struct frame *frame, uint8_t *out)
{
    static const uint8_t request[] = { 0, 1, 8, 0, 6, 4, 0, 1 };
    uint8_t *arp = out + FRAME_HEADER;

    frame_put16(out + 12, FRAME_ARP);
    memcpy(arp, request, sizeof(request));
    memcpy(arp + 8, frame->data + FRAME_MAC, FRAME_MAC);
    memcpy(arp + 14, frame->source.bytes, 4);
    memcpy(arp + 24, frame->source.bytes, 4);
    return FRAME_HEADER + FRAME_ARP_LENGTH;
}

/* Build a neighbour advertisement (RFC 4861, 4.4) with the hardware address
 * option. */
static size_t announce_ipv6(const struct frame *frame, uint8_t *out)
{
    static const uint8_t to[16] = { 0xfe, 0xc0, [15] = 2 };
    uint8_t *ip = out + FRAME_HEADER, *icmp = ip + FRAME_IPV6_HEADER;
    uint32_t sum;

    frame_put16(out + 12, FRAME_IPV6);
    ip[0] = 0x60;
    frame_put16(ip + 4, 32);
    ip[6] = FRAME_ICMPV6;
    ip[7] = 255;
    memcpy(ip + 8, frame->source.bytes, 16);
    memcpy(ip + 24, to, 16);
    icmp[0] = 136;
    icmp[4] = 0x20; /* the override flag */
    memcpy(icmp + 8, frame->source.bytes, 16);
    icmp[24] = 2;
    icmp[25] = 1;
    memcpy(icmp + 26, frame->data + FRAME_MAC, FRAME_MAC);
    sum = frame_sum(32 + FRAME_ICMPV6, ip + 8, 32);
    frame_put16(icmp + 2, ~frame_fold(frame_sum(sum, icmp, 32)) & 0xffff);
    return NEIGHBOURS_FRAME;
}

size_t neighbours_announce(const struct frame *frame,
                           uint8_t ret_announcement[NEIGHBOURS_FRAME])
{
    memset(ret_announcement, 0, NEIGHBOURS_FRAME);
    memcpy(ret_announcement + FRAME_MAC, frame->data + FRAME_MAC, FRAME_MAC);
    return frame->source.v6 ? announce_ipv6(frame, ret_announcement)
                            : announce_ipv4(frame, ret_announcement);
}

size_t neighbours_meet(struct neighbours *neighbours, const struct frame *frame,
                       uint8_t ret_announcement[NEIGHBOURS_FRAME])
{
    static const uint8_t zero[16];
    bool v6 = frame->source.v6;

    if (memcmp(frame->source.bytes, zero, 16) == 0)
        return 0;
    for (unsigned i = 0; i < neighbours->of[v6].count; i++) {
        if (memcmp(neighbours->of[v6].known[i].bytes, frame->source.bytes,
                   16) == 0)
            return 0;
    }
    neighbours->of[v6].known[neighbours->of[v6].next] = frame->source;
    neighbours->of[v6].next = (neighbours->of[v6].next + 1) % NEIGHBOURS_KNOWN;
    if (neighbours->of[v6].count < NEIGHBOURS_KNOWN)
        neighbours->of[v6].count++;
    return neighbours_announce(frame, ret_announcement);
}
