/* SPDX-License-Identifier: Apache-2.0
 *
 * neighbours - the guest's addresses, told to slirp before they are used.
 *
 * What slirp would answer to an address of the guest whose hardware it does not
 * know is kept for a second while it asks, without a limit. So it is told of
 * an address, in the name of the guest, when the first frame comes from there.
 * It remembers 16 of each family, the oldest goes first; this table does the
 * same, and so it knows what slirp knows. (IPv4: there are only 16.)
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

/* If the source of a frame (that may pass) is new: the frame that announces it,
 * at ret_announcement, and its length; else 0. */
size_t neighbours_meet(struct neighbours *neighbours, const struct frame *frame,
                       uint8_t ret_announcement[NEIGHBOURS_FRAME]);

/* The frame that announces the source of this one, at ret_announcement, and its
 * length. */
size_t neighbours_announce(const struct frame *frame,
                           uint8_t ret_announcement[NEIGHBOURS_FRAME]);

#endif
