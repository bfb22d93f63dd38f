/* SPDX-License-Identifier: Apache-2.0
 *
 * part_split - splits a frame that is longer than the guest's MTU.
 *
 * slirp's MTU is larger than that of some guests, and slirp does not fragment
 * IPv6 packets at all. IPv4 fragments that are too long are split further.
 * Frames that slirp never makes, long ARP and IPv6 fragments, are not sent. TCP
 * is not split: both ends observe the maximum segment size.
 */
#ifndef NET_PART_SPLIT_H
#define NET_PART_SPLIT_H

#include "net/frame.h"

typedef void (*part_split_send)(const uint8_t *data, size_t length,
                                void *opaque);

/* Send frame, of at most FRAME_WHOLE_MAX bytes, as frames of at most FRAME_MAX
 * bytes (FRAME_LINK_MAX of TCP). id: of the packet, if it is IPv6. */
void part_split(const struct frame *frame, uint32_t id, part_split_send send,
                void *opaque);

#endif
