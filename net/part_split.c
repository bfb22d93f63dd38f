/* SPDX-License-Identifier: Apache-2.0
 *
 * part_split - see part_split.h.
 */
#include "net/part_split.h"

#include <string.h>

enum { UNIT = 8, MORE = 1 << 13 };

/* Write the headers of the fragment at offset "from" of the payload to out.
 * Return the position behind them.
 */
static uint8_t *begin_ipv4(const struct frame *frame, uint8_t *out, size_t from,
                           size_t length, bool more)
{
    uint8_t *ip = out + FRAME_HEADER;
    size_t offset = frame->part_offset + from;

    frame_put16(ip + 2, (unsigned)length + FRAME_IPV4_HEADER);
    frame_put16(ip + 6, (more ? MORE : 0) | (unsigned)(offset / UNIT));
    frame_put16(ip + 10, 0);
    frame_put16(ip + 10,
                ~frame_fold(frame_sum(0, ip, FRAME_IPV4_HEADER)) & 0xffff);
    return ip + FRAME_IPV4_HEADER;
}

static uint8_t *begin_ipv6(const struct frame *frame, uint8_t *out, size_t from,
                           size_t length, bool more, uint32_t id)
{
    uint8_t *ip = out + FRAME_HEADER, *part = ip + FRAME_IPV6_HEADER;

    frame_put16(ip + 4, (unsigned)length + FRAME_PART_HEADER);
    ip[6] = FRAME_PART;
    part[0] = (uint8_t)frame->protocol;
    part[1] = 0;
    frame_put16(part + 2, (unsigned)from | more);
    frame_put16(part + 4, id >> 16);
    frame_put16(part + 6, id & 0xffff);
    return part + FRAME_PART_HEADER;
}

void part_split(const struct frame *frame, uint32_t id, part_split_send send,
                void *opaque)
{
    bool v6 = frame->type == FRAME_IPV6;
    size_t header = FRAME_HEADER + (v6 ? FRAME_IPV6_HEADER : FRAME_IPV4_HEADER);
    size_t room = (FRAME_MAX - header - (v6 ? FRAME_PART_HEADER : 0)) / UNIT *
                  UNIT;
    size_t from, length;
    uint8_t out[FRAME_MAX], *payload;

    if (frame->length <=
        (frame->protocol == FRAME_TCP ? FRAME_LINK_MAX : FRAME_MAX)) {
        send(frame->data, frame->length, opaque);
        return;
    }
    if (frame->type == FRAME_ARP || (v6 && frame->fragmented))
        return;
    memcpy(out, frame->data, header);
    for (from = 0; from < frame->payload_length; from += length) {
        bool more = frame->payload_length - from > room;

        length = more ? room : frame->payload_length - from;
        more = more || frame->more;
        payload = v6 ? begin_ipv6(frame, out, from, length, more, id)
                     : begin_ipv4(frame, out, from, length, more);
        memcpy(payload, frame->data + frame->payload + from, length);
        send(out, (size_t)(payload - out) + length, opaque);
    }
}
