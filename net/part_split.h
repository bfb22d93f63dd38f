/* SPDX-License-Identifier: Apache-2.0
 *
 * part_split - a frame for the guest that is longer than its card takes.
 *
 * slirp knows a larger MTU than the guest, and does not split packets of IPv6
 * at all. Parts of IPv4 that are too long themselves are split further. What it
 * never makes, long ARP and parts of IPv6, is not sent.
 */
#ifndef NET_PART_SPLIT_H
#define NET_PART_SPLIT_H

#include "net/frame.h"

typedef void (*part_split_send)(const uint8_t *data, size_t length,
                                void *opaque);

/* Send frame, whose length is at most FRAME_WHOLE_MAX, in frames of at most
 * FRAME_MAX bytes. id: of the packet, if it is one of IPv6. */
void part_split(const struct frame *frame, uint32_t id, part_split_send send,
                void *opaque);

#endif
