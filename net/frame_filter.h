/* SPDX-License-Identifier: Apache-2.0
 *
 * frame_filter - which frames may pass between a guest and slirp.
 *
 * The guest's root is the adversary, so nothing here depends on what the guest
 * should do: every frame is judged by itself, by where it goes. There is no
 * state of connections to be led astray.
 *
 * From the guest: ARP and neighbour discovery, which slirp answers itself; DHCP
 * and echo requests to the gateway, the same; DNS to the name server of slirp,
 * if the policy has it; else TCP, UDP and echo requests to where the policy
 * lets it. To the guest: what comes from there. So a flow ends in both
 * directions when the policy changes.
 *
 * The guest's own address must be one of this network (10.0.2.15 to 10.0.2.30,
 * which is what DHCP gives, fec0::/64 or fe80::/64).
 *
 * Parts of packets (IP fragments) are not judged: only the first one has ports,
 * and another may write over them. They are put together first (part_table.h),
 * and then it is the whole that may pass or not. slirp gets none: libslirp 4.7
 * can be made to crash with them (it keeps its lists in their headers), and
 * keeps as many as there come for half a minute.
 */
#ifndef NET_FRAME_FILTER_H
#define NET_FRAME_FILTER_H

#include "common/network_policy.h"
#include "net/frame.h"

enum filter_verdict {
    FILTER_PASS_SLIRP, /* which answers itself */
    FILTER_PASS,       /* to the world */
    FILTER_PASS_DNS,   /* to the name server */
    FILTER_PART,       /* to be put together with others */
    FILTER_DROP,       /* noise, or broken */
    FILTER_CLOSED,     /* to the name server's address, where nothing else is */
    FILTER_REFUSE,     /* an attempt to reach what the policy does not allow */
};

struct frame_filter {
    struct network_policy policy;
    uint8_t dns[4]; /* the name server's address, as the guest knows it */
    bool has_dns;   /* there is one */

    /* Is it an address of this host? */
    bool (*is_host)(const struct network_address *address, void *opaque);
    void *opaque;
};

enum filter_verdict frame_filter_from_guest(const struct frame_filter *filter,
                                            const struct frame *frame);

bool frame_filter_to_guest(const struct frame_filter *filter,
                           const struct frame *frame);

/* Whether the policy, and what is known of the host, let a guest go there;
 * port as in network_policy.h. */
bool frame_filter_may_reach(const struct frame_filter *filter,
                            const struct network_address *address,
                            unsigned port);

#endif
