/* SPDX-License-Identifier: Apache-2.0
 *
 * frame - see frame.h.
 */
#include "net/frame.h"

#include <string.h>

/* ---- bytes --------------------------------------------------------------- */

unsigned frame_get16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

uint32_t frame_get32(const uint8_t *at)
{
    return (uint32_t)frame_get16(at) << 16 | frame_get16(at + 2);
}

void frame_put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

void frame_put_reply(const struct frame *frame, uint8_t *out)
{
    memcpy(out, frame->data + FRAME_MAC, FRAME_MAC);
    memcpy(out + FRAME_MAC, frame->data, FRAME_MAC);
    out[FRAME_MAC] &= 0xfe; /* not multicast, as a source */
    frame_put16(out + 12, frame->type);
}

void frame_put_ipv4(uint8_t *ip, unsigned id, unsigned protocol,
                    const uint8_t *source, const uint8_t *target, size_t length)
{
    enum { HOPS = 64 };

    memset(ip, 0, FRAME_IPV4_HEADER);
    ip[0] = 0x45;
    frame_put16(ip + 2, (unsigned)length + FRAME_IPV4_HEADER);
    frame_put16(ip + 4, id & 0xffff);
    ip[8] = HOPS;
    ip[9] = (uint8_t)protocol;
    memcpy(ip + 12, source, 4);
    memcpy(ip + 16, target, 4);
    frame_put16(ip + 10,
                ~frame_fold(frame_sum(0, ip, FRAME_IPV4_HEADER)) & 0xffff);
}

uint32_t frame_sum(uint32_t sum, const uint8_t *data, size_t length)
{
    size_t i;

    for (i = 0; i + 1 < length; i += 2)
        sum += frame_get16(data + i);
    if (i < length)
        sum += (uint32_t)data[i] << 8;
    return sum;
}

unsigned frame_fold(uint32_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

static void get_address(const uint8_t *at, bool v6,
                        struct network_address *ret_address)
{
    memset(ret_address, 0, sizeof(*ret_address));
    ret_address->v6 = v6;
    memcpy(ret_address->bytes, at, v6 ? 16 : 4);
}

/* ---- layers -------------------------------------------------------------- */

static bool parse_arp(struct frame *frame)
{
    static const uint8_t ethernet_ipv4[] = { 0, 1, 8, 0, 6, 4 };
    const uint8_t *arp = frame->data + FRAME_HEADER;

    if (frame->length < FRAME_HEADER + FRAME_ARP_LENGTH ||
        memcmp(arp, ethernet_ipv4, sizeof(ethernet_ipv4)) != 0)
        return false;
    get_address(arp + 14, false, &frame->source);
    get_address(arp + 24, false, &frame->target);
    return true;
}

static bool parse_tcp(struct frame *frame, const uint8_t *at)
{
    size_t header;

    if (frame->payload_length < 20)
        return false;
    header = (size_t)(at[12] >> 4) * 4;
    if (header < 20 || header > frame->payload_length)
        return false;
    frame->tcp_flags = at[13];
    frame->tcp_data = frame->payload_length - header;
    return true;
}

/* Parse the headers in the first fragment of a packet. */
static bool parse_payload(struct frame *frame)
{
    const uint8_t *at = frame->data + frame->payload;
    unsigned protocol = frame->protocol;

    if (protocol != FRAME_TCP && protocol != FRAME_UDP &&
        protocol != FRAME_ICMP && protocol != FRAME_ICMPV6)
        return true;
    if (frame->payload_length < 8)
        return false;
    if (protocol == FRAME_ICMP || protocol == FRAME_ICMPV6) {
        frame->icmp_type = at[0];
        return true;
    }
    frame->source_port = frame_get16(at);
    frame->target_port = frame_get16(at + 2);
    return protocol == FRAME_UDP || parse_tcp(frame, at);
}

static bool parse_ipv4(struct frame *frame)
{
    const uint8_t *ip = frame->data + FRAME_HEADER;
    size_t room = frame->length - FRAME_HEADER, total;
    unsigned offset;

    if (room < FRAME_IPV4_HEADER || ip[0] != 0x45)
        return false;
    total = frame_get16(ip + 2);
    if (total < FRAME_IPV4_HEADER || total > room)
        return false;
    offset = frame_get16(ip + 6);
    frame->fragment_id = frame_get16(ip + 4);
    frame->fragmented = (offset & 0x3fff) != 0;
    frame->part_offset = (size_t)(offset & 0x1fff) * 8;
    frame->first = frame->part_offset == 0;
    frame->more = (offset & 0x2000) != 0;
    frame->hops = ip[8];
    frame->protocol = ip[9];
    get_address(ip + 12, false, &frame->source);
    get_address(ip + 16, false, &frame->target);
    frame->payload = FRAME_HEADER + FRAME_IPV4_HEADER;
    frame->payload_length = total - FRAME_IPV4_HEADER;
    return !frame->first || parse_payload(frame);
}

/*      0             1         2                 4
 *     +-------------+---------+----------+------+----------------+
 *     | next header | 0       | offset 13| 0  |M| identification |
 *     +-------------+---------+----------+------+----------------+
 */
static bool parse_ipv6_part(struct frame *frame)
{
    const uint8_t *at = frame->data + frame->payload;

    if (frame->payload_length < FRAME_PART_HEADER)
        return false;
    frame->fragmented = true;
    frame->protocol = at[0];
    frame->part_offset = frame_get16(at + 2) & 0xfff8;
    frame->first = frame->part_offset == 0;
    frame->more = (at[3] & 1) != 0;
    frame->fragment_id = frame_get32(at + 4);
    frame->payload += FRAME_PART_HEADER;
    frame->payload_length -= FRAME_PART_HEADER;
    return !frame->first || parse_payload(frame);
}

static bool parse_ipv6(struct frame *frame)
{
    const uint8_t *ip = frame->data + FRAME_HEADER;
    size_t room = frame->length - FRAME_HEADER;

    if (room < FRAME_IPV6_HEADER || ip[0] >> 4 != 6 ||
        frame_get16(ip + 4) > room - FRAME_IPV6_HEADER)
        return false;
    frame->first = true;
    frame->protocol = ip[6];
    frame->hops = ip[7];
    get_address(ip + 8, true, &frame->source);
    get_address(ip + 24, true, &frame->target);
    frame->payload = FRAME_HEADER + FRAME_IPV6_HEADER;
    frame->payload_length = frame_get16(ip + 4);
    return frame->protocol == FRAME_PART ? parse_ipv6_part(frame)
                                         : parse_payload(frame);
}

bool frame_parse(uint8_t *data, size_t length, struct frame *ret_frame)
{
    struct frame *frame = ret_frame;

    *frame = (struct frame){ .data = data, .length = length };
    if (length < FRAME_HEADER || data[FRAME_MAC] & 1) /* a multicast source */
        return false;
    frame->type = frame_get16(data + 12);
    switch (frame->type) {
    case FRAME_ARP:
        return parse_arp(frame);
    case FRAME_IPV4:
        return parse_ipv4(frame);
    case FRAME_IPV6:
        return parse_ipv6(frame);
    default:
        return false;
    }
}

bool frame_get_quoted(const struct frame *frame,
                      struct network_address *ret_target)
{
    const uint8_t *quoted = frame->data + frame->payload + 8;
    size_t room = frame->payload_length;

    if (!frame->first || room < 8)
        return false;
    room -= 8;
    if (frame->protocol == FRAME_ICMP &&
        (frame->icmp_type == 3 || frame->icmp_type == 11 ||
         frame->icmp_type == 12) &&
        room >= FRAME_IPV4_HEADER) {
        get_address(quoted + 16, false, ret_target);
        return true;
    }
    if (frame->protocol == FRAME_ICMPV6 && frame->icmp_type >= 1 &&
        frame->icmp_type <= 4 && room >= FRAME_IPV6_HEADER) {
        get_address(quoted + 24, true, ret_target);
        return true;
    }
    return false;
}
