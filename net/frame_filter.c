/* SPDX-License-Identifier: Apache-2.0
 *
 * frame_filter - see frame_filter.h.
 */
#include "net/frame_filter.h"

#include <string.h>

#include "common/network_reserved.h"

enum {
    DHCP_SERVER = 67,
    DHCP_CLIENT = 68,
    TFTP = 69,
    DNS = 53,

    ECHO_REPLY = 0,
    ECHO_REQUEST = 8,
    ECHO_REQUEST_V6 = 128,
    ECHO_REPLY_V6 = 129,
    ROUTER_SOLICITATION = 133,
    ROUTER_ADVERTISEMENT = 134,
    NEIGHBOUR_SOLICITATION = 135,
    NEIGHBOUR_ADVERTISEMENT = 136,
    UNROUTED_HOPS = 255, /* of a packet that was not routed (RFC 4861) */
};

static const uint8_t gateway[4] = { 10, 0, 2, 2 };
static const uint8_t gateway_v6[16] = { 0xfe, 0xc0, [15] = 2 };
static const uint8_t router_v6[16] = { 0xfe, 0x80, [15] = 2 };

/* ---- addresses ----------------------------------------------------------- */

static bool is_zero(const struct network_address *address)
{
    static const uint8_t zero[16];

    return memcmp(address->bytes, zero, sizeof(zero)) == 0;
}

static bool is_multicast(const struct network_address *address)
{
    return address->bytes[0] >= (address->v6 ? 0xff : 224);
}

static bool is_gateway(const struct network_address *address)
{
    return address->v6 ? memcmp(address->bytes, gateway_v6, 16) == 0 ||
                             memcmp(address->bytes, router_v6, 16) == 0
                       : memcmp(address->bytes, gateway, 4) == 0;
}

/* Return whether the address is in the guest's own network: 10.0.2.0/24;
 * fec0::/64 and fe80::/64. */
static bool is_near(const struct network_address *address)
{
    static const uint8_t zero[6];
    const uint8_t *bytes = address->bytes;

    if (!address->v6)
        return memcmp(bytes, gateway, 3) == 0;
    return bytes[0] == 0xfe && (bytes[1] == 0xc0 || bytes[1] == 0x80) &&
           memcmp(bytes + 2, zero, 6) == 0;
}

/* Return whether a guest may use the address: not one of slirp's. */
static bool is_guest(const struct network_address *address)
{
    if (!is_near(address) || is_gateway(address))
        return false;
    return address->v6 || (address->bytes[3] >= 15 && address->bytes[3] <= 30);
}

static bool is_dns(const struct frame_filter *filter,
                   const struct network_address *address)
{
    return !address->v6 && memcmp(address->bytes, filter->dns, 4) == 0;
}

static bool is_host(const struct frame_filter *filter,
                    const struct network_address *address)
{
    struct network_address embedded[NETWORK_EMBEDDED_MAX];
    unsigned count = network_reserved_embedded(address, embedded);

    for (unsigned i = 0; i < count; i++) {
        if (filter->is_host(&embedded[i], filter->opaque))
            return true;
    }
    return filter->is_host(address, filter->opaque);
}

bool frame_filter_may_reach(const struct frame_filter *filter,
                            const struct network_address *address,
                            unsigned port)
{
    return network_policy_allows(&filter->policy, address, port) &&
           (network_policy_names(&filter->policy, address, port) ||
            !is_host(filter, address));
}

/* Return the name for which the address stands, or NULL. */
static const char *name_of(const struct frame_filter *filter,
                           const struct network_address *address)
{
    return filter->names ? name_table_find(filter->names, address) : NULL;
}

static bool has_ports(const struct frame *frame)
{
    return frame->protocol == FRAME_TCP || frame->protocol == FRAME_UDP;
}

/* ---- requests that slirp answers itself ---------------------------------- */

static enum filter_verdict judge_arp(const struct frame *frame)
{
    const uint8_t *arp = frame->data + FRAME_HEADER;
    unsigned operation = frame_get16(arp + 6);

    /* The sender's hardware address must be the frame's. */
    if ((operation != 1 && operation != 2) || !is_near(&frame->target) ||
        memcmp(arp + 8, frame->data + FRAME_MAC, FRAME_MAC) != 0)
        return FILTER_DROP;
    /* An address probe (RFC 5227) has the source 0. */
    return is_zero(&frame->source) || is_guest(&frame->source)
               ? FILTER_PASS_SLIRP
               : FILTER_DROP;
}

static bool is_dhcp(const struct frame *frame)
{
    static const uint8_t broadcast[4] = { 255, 255, 255, 255 };

    return frame->protocol == FRAME_UDP && !frame->joined &&
           frame->source_port == DHCP_CLIENT &&
           frame->target_port == DHCP_SERVER &&
           (is_zero(&frame->source) || is_guest(&frame->source)) &&
           (is_gateway(&frame->target) ||
            memcmp(frame->target.bytes, broadcast, 4) == 0);
}

/* Neighbour discovery is never fragmented (RFC 6980). */
static bool is_discovery(const struct frame *frame)
{
    return frame->protocol == FRAME_ICMPV6 && frame->hops == UNROUTED_HOPS &&
           !frame->joined &&
           (frame->icmp_type == ROUTER_SOLICITATION ||
            frame->icmp_type == NEIGHBOUR_SOLICITATION ||
            frame->icmp_type == NEIGHBOUR_ADVERTISEMENT) &&
           (is_near(&frame->target) || is_multicast(&frame->target)) &&
           (is_zero(&frame->source) || is_guest(&frame->source));
}

static bool is_echo_request(const struct frame *frame)
{
    return frame->target.v6 ? frame->protocol == FRAME_ICMPV6 &&
                                  frame->icmp_type == ECHO_REQUEST_V6
                            : frame->protocol == FRAME_ICMP &&
                                  frame->icmp_type == ECHO_REQUEST;
}

/* ---- other destinations -------------------------------------------------- */

static bool is_carried(const struct frame *frame)
{
    return has_ports(frame) || is_echo_request(frame);
}

static enum filter_verdict judge_dns(const struct frame_filter *filter,
                                     const struct frame *frame)
{
    if (!is_carried(frame))
        return FILTER_DROP;
    if (frame->target_port != DNS || !has_ports(frame))
        return FILTER_CLOSED;
    return network_policy_has_names(&filter->policy) ||
                   (filter->policy.dns && filter->has_dns &&
                    filter->policy.kind != NETWORK_DISABLED)
               ? FILTER_PASS_DNS
               : FILTER_REFUSE;
}

static enum filter_verdict judge_name(const struct frame_filter *filter,
                                      const struct frame *frame,
                                      const char *name)
{
    if (frame->protocol != FRAME_TCP)
        return is_carried(frame) ? FILTER_CLOSED : FILTER_DROP;
    return network_policy_judge_name(&filter->policy, name,
                                     frame->target_port) != NAME_DENIED
               ? FILTER_PASS_NAME
               : FILTER_REFUSE;
}

static enum filter_verdict judge_world(const struct frame_filter *filter,
                                       const struct frame *frame)
{
    const char *name = name_of(filter, &frame->target);

    if (!is_guest(&frame->source) || is_multicast(&frame->target) ||
        is_zero(&frame->target))
        return FILTER_DROP;
    if (is_dns(filter, &frame->target))
        return judge_dns(filter, frame);
    if (name)
        return judge_name(filter, frame, name);
    if (is_gateway(&frame->target) && is_echo_request(frame))
        return FILTER_PASS_SLIRP;
    if (!is_carried(frame))
        return FILTER_DROP;
    if (!frame_filter_may_reach(filter, &frame->target,
                                has_ports(frame) ? frame->target_port : 0))
        return FILTER_REFUSE;
    /* slirp's own services, which are not offered. */
    if (is_gateway(&frame->target) && frame->protocol == FRAME_UDP &&
        (frame->target_port == TFTP || frame->target_port == DHCP_SERVER))
        return FILTER_DROP;
    return FILTER_PASS;
}

/* libslirp 4.7 writes beyond its buffers for a long echo request over IPv6; no
 * other message that it answers itself is long. */
static bool may_be_long(const struct frame *frame)
{
    return frame->type != FRAME_ARP && frame->protocol != FRAME_ICMPV6 &&
           !is_dhcp(frame);
}

enum filter_verdict frame_filter_from_guest(const struct frame_filter *filter,
                                            const struct frame *frame)
{
    if (frame->fragmented)
        return FILTER_PART;
    if (frame->length > FRAME_MAX && !may_be_long(frame))
        return FILTER_DROP;
    if (frame->type == FRAME_ARP)
        return judge_arp(frame);
    if (frame->type == FRAME_IPV4 && is_dhcp(frame))
        return FILTER_PASS_SLIRP;
    if (frame->type == FRAME_IPV6 && is_discovery(frame))
        return FILTER_PASS_SLIRP;
    return judge_world(filter, frame);
}

/* ---- to the guest -------------------------------------------------------- */

/* Return whether slirp itself is the source. */
static bool is_of_slirp(const struct frame *frame)
{
    if (frame->type == FRAME_ARP)
        return true;
    if (frame->protocol == FRAME_ICMPV6)
        return frame->icmp_type >= ROUTER_ADVERTISEMENT &&
               frame->icmp_type <= NEIGHBOUR_ADVERTISEMENT;
    if (!is_near(&frame->source) || !frame->first)
        return false;
    if (frame->protocol == FRAME_ICMP)
        return frame->icmp_type == ECHO_REPLY;
    return frame->protocol == FRAME_UDP && frame->source_port == DHCP_SERVER &&
           frame->target_port == DHCP_CLIENT;
}

/* slirp fragments replies that the guest requested; the ports of later
 * fragments are unknown. */
static unsigned port_from(const struct frame *frame)
{
    if (!has_ports(frame))
        return 0;
    return frame->first ? frame->source_port : NETWORK_PORT_UNKNOWN;
}

bool frame_filter_to_guest(const struct frame_filter *filter,
                           const struct frame *frame)
{
    const char *name = name_of(filter, &frame->source);
    struct network_address target;

    if (is_of_slirp(frame))
        return true;
    if (frame->protocol == FRAME_ICMPV6 && frame->icmp_type == ECHO_REPLY_V6 &&
        is_gateway(&frame->source))
        return true;
    /* An error may come from any router on the way; it concerns a packet that
     * was sent to an allowed destination. */
    if (frame_get_quoted(frame, &target))
        return frame_filter_may_reach(filter, &target, NETWORK_PORT_UNKNOWN);
    /* The end of a connection may be visible; it carries no data. */
    if (frame->protocol == FRAME_TCP && frame->first && frame->tcp_data == 0 &&
        frame->tcp_flags & (FRAME_FIN | FRAME_RST))
        return true;
    if (name)
        return frame->protocol == FRAME_TCP && frame->first &&
               network_policy_judge_name(&filter->policy, name,
                                         frame->source_port) != NAME_DENIED;
    return frame_filter_may_reach(filter, &frame->source, port_from(frame));
}
