/* SPDX-License-Identifier: Apache-2.0
 *
 * udp_frame - see udp_frame.h.
 */
#include "net/udp_frame.h"

size_t udp_frame_put(const struct udp_frame *frame, size_t length, uint8_t *out)
{
    uint8_t *ip = out + FRAME_HEADER, *head = ip + FRAME_IPV4_HEADER;
    size_t whole = UDP_HEADER + length;
    unsigned sum;

    frame_put_ipv4(ip, frame->id, FRAME_UDP, frame->source, frame->target,
                   whole);
    frame_put16(head, frame->source_port);
    frame_put16(head + 2, frame->target_port);
    frame_put16(head + 4, (unsigned)whole);
    frame_put16(head + 6, 0);
    sum = frame_sum(FRAME_UDP + (uint32_t)whole, ip + 12, 8);
    sum = ~frame_fold(frame_sum(sum, head, whole)) & 0xffff;
    frame_put16(head + 6, sum ? sum : 0xffff); /* 0: no checksum */
    return UDP_FRAME_HEADERS + length;
}

bool udp_frame_get(const struct frame *frame, const uint8_t **ret_data,
                   size_t *ret_length)
{
    const uint8_t *head = frame->data + frame->payload;
    size_t length;

    if (frame->payload_length < UDP_HEADER)
        return false;
    length = frame_get16(head + 4);
    if (length < UDP_HEADER || length > frame->payload_length)
        return false;
    *ret_data = head + UDP_HEADER;
    *ret_length = length - UDP_HEADER;
    return true;
}
