/* SPDX-License-Identifier: Apache-2.0
 *
 * frame - parses an Ethernet frame of a guest.
 *
 *     0   6    12   14
 *     +---+----+----+--------------------------------------------+
 *     |to|from |type| IPv4 (RFC 791) or IPv6 (RFC 8200) or ARP    |
 *     +---+----+----+--------------------------------------------+
 *
 * Read byte by byte, because a frame is unaligned and untrusted: all offsets
 * that frame_parse() returns lie within the frame.
 */
#ifndef NET_FRAME_H
#define NET_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/network_link.h"
#include "common/network_policy.h"

enum {
    FRAME_MAC = 6,
    FRAME_HEADER = 14,
    FRAME_MTU = 1500,
    FRAME_MAX = FRAME_HEADER + FRAME_MTU,
    /* The longest frame of a guest, and of TCP in both directions. A guest with
     * a smaller MTU announces its maximum segment size. */
    FRAME_LINK_MAX = FRAME_HEADER + NETWORK_LINK_MTU,

    FRAME_IPV4 = 0x0800,
    FRAME_ARP = 0x0806,
    FRAME_IPV6 = 0x86dd,

    FRAME_IPV4_HEADER = 20,
    FRAME_IPV6_HEADER = 40,
    FRAME_PART_HEADER = 8, /* of an IPv6 fragment */
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

/* TCP flags. */
enum { FRAME_FIN = 1, FRAME_SYN = 2, FRAME_RST = 4, FRAME_ACK = 16 };

struct frame {
    uint8_t *data; /* borrowed */
    size_t length;
    unsigned type; /* FRAME_IPV4 ... */

    /* Of IPv4 and IPv6; of ARP the sender's and the requested address. */
    struct network_address source, target;
    unsigned protocol;
    unsigned hops;      /* TTL or hop limit */
    bool fragmented;    /* a fragment of a packet */
    bool first;         /* contains the packet's beginning */
    bool more;          /* lacks the packet's end */
    size_t part_offset; /* offset in the packet's payload */
    uint32_t fragment_id;
    bool joined; /* reassembled from fragments (part_table.h) */

    /* The bytes behind the IP header, and behind that of a fragment. */
    size_t payload, payload_length;

    /* Of the first (or only) fragment of TCP and UDP. */
    unsigned source_port, target_port;
    uint8_t tcp_flags;
    size_t tcp_data; /* length of the TCP payload */
    /* Of ICMP and ICMPv6. */
    unsigned icmp_type;
};

/* Big-endian numbers in a frame. */
unsigned frame_get16(const uint8_t *at);
uint32_t frame_get32(const uint8_t *at);
void frame_put16(uint8_t *at, unsigned value);

/* Write the Ethernet header of a reply to the frame. */
void frame_put_reply(const struct frame *frame, uint8_t *out);

/* Write an IPv4 header of FRAME_IPV4_HEADER bytes, in front of length bytes of
 * a payload. */
void frame_put_ipv4(uint8_t *ip, unsigned id, unsigned protocol,
                    const uint8_t *source, const uint8_t *target,
                    size_t length);

/* Return whether the frame is valid ARP, IPv4 or IPv6: without IP options and
 * extension headers (except IPv6's fragment header, RFC 8200, 4.5), with all
 * the bytes that its headers declare. */
bool frame_parse(uint8_t *data, size_t length, struct frame *ret_frame);

/* Return the target of the IPv4 or IPv6 packet quoted in an ICMP error. False
 * if frame is not such an error, or is malformed. */
bool frame_get_quoted(const struct frame *frame,
                      struct network_address *ret_target);

/* Return the Internet checksum (RFC 1071) of data, starting with an earlier
 * result of frame_sum(), or 0; not inverted, not folded. */
uint32_t frame_sum(uint32_t sum, const uint8_t *data, size_t length);
unsigned frame_fold(uint32_t sum);

#endif
