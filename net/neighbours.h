/* SPDX-License-Identifier: Apache-2.0
 *
 * neighbours - announces the guest's addresses to slirp before they are used.
 *
 * slirp queues replies to a guest address with unknown hardware for a second
 * while it asks, without a limit. So an address is announced to slirp on the
 * guest's behalf at the first frame from it. slirp caches 16 of each family, in
 * FIFO order; this table does the same, and so it mirrors slirp's cache. (IPv4:
 * there are only 16.)
 */
#ifndef NET_NEIGHBOURS_H
#define NET_NEIGHBOURS_H

#include "net/frame.h"

enum {
    NEIGHBOURS_KNOWN = 16,
    NEIGHBOURS_FRAME = FRAME_HEADER + FRAME_IPV6_HEADER + 32,
};

struct neighbours {
    struct {
        struct network_address known[NEIGHBOURS_KNOWN];
        unsigned count, next;
    } of[2]; /* IPv4, IPv6 */
};

/* If the source of an allowed frame is new, store its announcement in
 * ret_announcement and return the length; else return 0. */
size_t neighbours_meet(struct neighbours *neighbours, const struct frame *frame,
                       uint8_t ret_announcement[NEIGHBOURS_FRAME]);

/* Store the announcement of this frame's source in ret_announcement, and return
 * its length. */
size_t neighbours_announce(const struct frame *frame,
                           uint8_t ret_announcement[NEIGHBOURS_FRAME]);

#endif
