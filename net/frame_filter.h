/* SPDX-License-Identifier: Apache-2.0
 *
 * frame_filter - decides which frames may pass between a guest and slirp.
 *
 * The adversary is the guest's root, so the filter does not rely on the guest's
 * behaviour: every frame is judged by itself, by its destination. There is no
 * connection state that could be confused.
 *
 * From the guest: ARP and neighbour discovery, which slirp answers itself;
 * likewise DHCP and echo requests to the gateway; DNS to the name server of
 * slirp, if the policy allows it, or lists names; TCP to these names, by the
 * addresses of name_table.h; else TCP, UDP and echo requests to the policy's
 * destinations. To the guest: frames from there. So a flow ends in
 * both directions when the policy changes.
 *
 * The guest's own address must be one of this network (10.0.2.15 to 10.0.2.30,
 * which DHCP assigns, fec0::/64 or fe80::/64).
 *
 * Fragments are not judged: only the first one has ports, and another may
 * overwrite them. They are reassembled first (part_table.h), and the whole
 * packet is judged. slirp gets no fragments: they can crash libslirp 4.7 (which
 * keeps its lists in their headers), and it keeps any number of them for half a
 * minute.
 */
#ifndef NET_FRAME_FILTER_H
#define NET_FRAME_FILTER_H

#include "common/network_policy.h"
#include "net/frame.h"
#include "net/name_table.h"

enum filter_verdict {
    FILTER_PASS_SLIRP, /* slirp answers itself */
    FILTER_PASS,       /* to the outside */
    FILTER_PASS_DNS,   /* to the name server */
    FILTER_PASS_NAME,  /* to a name, by the address that stands for it */
    FILTER_PART,       /* to be reassembled */
    FILTER_DROP,       /* noise, or malformed */
    FILTER_CLOSED,     /* to another port of the name server's address, or to a
                          name by another protocol than TCP */
    FILTER_REFUSE,     /* forbidden by the policy */
};

struct frame_filter {
    struct network_policy policy;
    uint8_t dns[4]; /* the name server's address, as the guest uses it */
    bool has_dns;   /* there is a name server */
    const struct name_table *names; /* or NULL */

    /* Whether the address belongs to this host. */
    bool (*is_host)(const struct network_address *address, void *opaque);
    void *opaque;
};

enum filter_verdict frame_filter_from_guest(const struct frame_filter *filter,
                                            const struct frame *frame);

bool frame_filter_to_guest(const struct frame_filter *filter,
                           const struct frame *frame);

/* Return whether the policy, and the knowledge of the host's addresses, allow a
 * guest to reach this address; port as in network_policy.h. */
bool frame_filter_may_reach(const struct frame_filter *filter,
                            const struct network_address *address,
                            unsigned port);

#endif
