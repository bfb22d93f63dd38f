/* SPDX-License-Identifier: Apache-2.0
 *
 * udp_frame - UDP datagrams (RFC 768) over IPv4 in frames.
 */
#ifndef NET_UDP_FRAME_H
#define NET_UDP_FRAME_H

#include "net/frame.h"

enum {
    UDP_HEADER = 8,
    UDP_FRAME_HEADERS = FRAME_HEADER + FRAME_IPV4_HEADER + UDP_HEADER,
};

struct udp_frame {
    const uint8_t *source, *target; /* IPv4 addresses, borrowed */
    unsigned source_port, target_port;
    unsigned id; /* the IPv4 identification */
};

/* Write the IPv4 and UDP headers behind the Ethernet header of out, in front of
 * length bytes of data, which are at UDP_FRAME_HEADERS. Return the frame's
 * length. */
size_t udp_frame_put(const struct udp_frame *frame, size_t length,
                     uint8_t *out);

/* Store the data of a parsed UDP frame that has the beginning of its packet;
 * borrowed. Return false if its length is wrong. */
bool udp_frame_get(const struct frame *frame, const uint8_t **ret_data,
                   size_t *ret_length);

#endif
