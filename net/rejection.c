/* SPDX-License-Identifier: Apache-2.0
 *
 * rejection - see rejection.h.
 */
#include "net/rejection.h"

#include <string.h>

enum { QUOTED = 8, TCP_HEADER = 20, HOPS = 64 };

/* Write the Ethernet and IP headers of a reply of length bytes. Return the
 * position behind them. */
static uint8_t *begin(const struct frame *frame, uint8_t *out,
                      unsigned protocol, size_t length)
{
    const uint8_t *asked = frame->data + FRAME_HEADER;
    uint8_t *ip = out + FRAME_HEADER;

    memset(out, 0, REJECTION_MAX);
    frame_put_reply(frame, out);
    if (frame->type == FRAME_IPV6) {
        ip[0] = 0x60;
        frame_put16(ip + 4, (unsigned)length);
        ip[6] = (uint8_t)protocol;
        ip[7] = HOPS;
        memcpy(ip + 8, asked + 24, 16);
        memcpy(ip + 24, asked + 8, 16);
        return ip + FRAME_IPV6_HEADER;
    }
    frame_put_ipv4(ip, 0, protocol, asked + 16, asked + 12, length);
    return ip + FRAME_IPV4_HEADER;
}

/* Store the checksum of the bytes from "at" on, with a pseudo header if the
 * protocol requires one. */
static void put_sum(uint8_t *out, const uint8_t *at, size_t length,
                    unsigned protocol, uint8_t *sum_at)
{
    bool v6 = frame_get16(out + 12) == FRAME_IPV6;
    uint32_t sum = 0;

    if (v6 || protocol != FRAME_ICMP) {
        sum = (uint32_t)length + protocol;
        sum = frame_sum(sum, out + FRAME_HEADER + (v6 ? 8 : 12), v6 ? 32 : 8);
    }
    frame_put16(sum_at, ~frame_fold(frame_sum(sum, at, length)) & 0xffff);
}

static size_t build_error(const struct frame *frame, uint8_t *out)
{
    bool v6 = frame->type == FRAME_IPV6;
    unsigned protocol = v6 ? FRAME_ICMPV6 : FRAME_ICMP;
    size_t header = v6 ? FRAME_IPV6_HEADER : FRAME_IPV4_HEADER;
    size_t length = 8 + header + QUOTED;
    uint8_t *icmp = begin(frame, out, protocol, length);

    icmp[0] = v6 ? 1 : 3;
    icmp[1] = v6 ? 1 : 13;
    memcpy(icmp + 8, frame->data + FRAME_HEADER, header + QUOTED);
    put_sum(out, icmp, length, protocol, icmp + 2);
    return (size_t)(icmp - out) + length;
}

static size_t build_reset(const struct frame *frame, uint8_t *out)
{
    const uint8_t *asked = frame->data + frame->payload;
    uint8_t *tcp = begin(frame, out, FRAME_TCP, TCP_HEADER);

    memcpy(tcp, asked + 2, 2);
    memcpy(tcp + 2, asked, 2);
    memcpy(tcp + 4, asked + 8, 4); /* the sequence number that the guest
                                    * expects */
    tcp[12] = TCP_HEADER / 4 << 4;
    tcp[13] = FRAME_RST;
    put_sum(out, tcp, TCP_HEADER, FRAME_TCP, tcp + 16);
    return (size_t)(tcp - out) + TCP_HEADER;
}

size_t rejection_build(const struct frame *frame,
                       uint8_t ret_answer[REJECTION_MAX])
{
    if (!frame->first || frame->payload_length < QUOTED)
        return 0;
    if (frame->protocol != FRAME_TCP || frame->tcp_flags & FRAME_SYN)
        return build_error(frame, ret_answer);
    if (!(frame->tcp_flags & FRAME_ACK) || frame->tcp_flags & FRAME_RST)
        return 0;
    return build_reset(frame, ret_answer);
}
