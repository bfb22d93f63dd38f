/* SPDX-License-Identifier: Apache-2.0
 *
 * frame - what an Ethernet frame of a guest carries.
 *
 *     0   6    12   14
 *     +---+----+----+--------------------------------------------+
 *     |to|from |type| IPv4 (RFC 791) or IPv6 (RFC 8200) or ARP    |
 *     +---+----+----+--------------------------------------------+
 *
 * Read byte by byte, because a frame is not aligned and nothing in it is to be
 * believed: what frame_parse() has filled in lies within the frame.
 */
#ifndef NET_FRAME_H
#define NET_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/network_policy.h"

enum {
    FRAME_MAC = 6,
    FRAME_HEADER = 14,
    FRAME_MTU = 1500,
    FRAME_MAX = FRAME_HEADER + FRAME_MTU,

    FRAME_IPV4 = 0x0800,
    FRAME_ARP = 0x0806,
    FRAME_IPV6 = 0x86dd,

    FRAME_IPV4_HEADER = 20,
    FRAME_IPV6_HEADER = 40,
    FRAME_PART_HEADER = 8, /* IPv6's of a part of a packet */
    FRAME_ARP_LENGTH = 28,

    FRAME_PAYLOAD_MAX = 65535,
    FRAME_WHOLE_MAX = FRAME_HEADER + FRAME_IPV6_HEADER + FRAME_PAYLOAD_MAX,
};

enum frame_protocol {
    FRAME_ICMP = 1,
    FRAME_TCP = 6,
    FRAME_UDP = 17,
    FRAME_PART = 44, /* IPv6: another header follows */
    FRAME_ICMPV6 = 58,
};

/* Bits of the flags of TCP. */
enum { FRAME_FIN = 1, FRAME_SYN = 2, FRAME_RST = 4, FRAME_ACK = 16 };

struct frame {
    uint8_t *data; /* borrowed */
    size_t length;
    unsigned type; /* FRAME_IPV4 ... */

    /* Of IPv4 and IPv6; of ARP the sender and whom it asks for. */
    struct network_address source, target;
    unsigned protocol;
    unsigned hops;      /* TTL, hop limit */
    bool fragmented;    /* it is a part of a packet */
    bool first;         /* it has the packet's beginning */
    bool more;          /* and does not have its end */
    size_t part_offset; /* where it begins in the packet's payload */
    uint32_t fragment_id;
    bool joined; /* it was put together of parts (part_table.h) */

    /* What follows the IP header, and that of a part. */
    size_t payload, payload_length;

    /* Of the first (or only) part of TCP and UDP. */
    unsigned source_port, target_port;
    uint8_t tcp_flags;
    size_t tcp_data; /* length of what TCP carries */
    /* Of ICMP and ICMPv6. */
    unsigned icmp_type;
};

/* Big-endian numbers in a frame. */
unsigned frame_get16(const uint8_t *at);
uint32_t frame_get32(const uint8_t *at);
void frame_put16(uint8_t *at, unsigned value);

/* Whether it is ARP, IPv4 or IPv6 as they should be: without IP options and
 * extension headers (but IPv6's of a part, RFC 8200, 4.5), with all the bytes
 * that its headers promise. */
bool frame_parse(uint8_t *data, size_t length, struct frame *ret_frame);

/* The packet in an ICMP error: of IPv4 and IPv6 the target alone. False if
 * frame is no such error, or a broken one. */
bool frame_get_quoted(const struct frame *frame,
                      struct network_address *ret_target);

/* The Internet checksum (RFC 1071) of data, beginning with a sum that
 * frame_sum() gave before, or 0; not inverted, not folded. */
uint32_t frame_sum(uint32_t sum, const uint8_t *data, size_t length);
unsigned frame_fold(uint32_t sum);

#endif
