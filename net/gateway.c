/* SPDX-License-Identifier: Apache-2.0
 *
 * gateway - see gateway.h.
 */
#include "net/gateway.h"

#include <errno.h>
#include <string.h>

#include "common/log.h"
#include "net/dns_alias.h"
#include "net/flows.h"
#include "net/frame_filter.h"
#include "netbase/host_routes.h"
#include "net/names.h"
#include "net/neighbours.h"
#include "net/part_split.h"
#include "net/part_table.h"
#include "net/refusals.h"
#include "net/rejection.h"
#include "net/shares.h"
#include "net/slirp_stack.h"
#include "net/stream.h"

enum { REJECTIONS_PER_SECOND = 200, DNS = 53 };

struct gateway {
    struct stream *stream;
    struct slirp_stack *stack; /* TCP; NULL until configured */
    struct flows *flows;       /* UDP and echo */
    struct inbound *inbound;
    struct shares shares;
    struct host_routes *routes;
    struct frame_filter filter;
    struct network_policy before; /* the filter's policy before the last */
    struct dns_alias alias;
    struct neighbours neighbours;
    struct refusals refusals;
    struct names *names;
    struct part_table parts; /* of the guest's packets */
    uint32_t packet;         /* id of the last split packet to the guest */
    uint8_t answer[FRAME_WHOLE_MAX];
    gateway_has_event has_event;
    void *opaque;

    bool own_dns;   /* the alias's server is this process (names.h) */
    bool polled;    /* slirp's sockets are in the polled fds */
    int64_t second; /* to which rejections belongs */
    unsigned rejections;
    uint64_t from_guest, to_guest, dropped, refused_count;
    uint64_t bytes_from_guest, bytes_to_guest;
};

/* ---- frames -------------------------------------------------------------- */

static void send_to_guest(const uint8_t *data, size_t length, void *opaque)
{
    struct gateway *gateway = opaque;

    if (stream_send(gateway->stream, data, length)) {
        gateway->to_guest++;
        gateway->bytes_to_guest += length;
    } else {
        gateway->dropped++;
    }
}

static void count_from_guest(struct gateway *gateway, const struct frame *frame)
{
    gateway->from_guest++;
    gateway->bytes_from_guest += frame->length;
}

static void note_limit(struct gateway *gateway, enum share share)
{
    if (shares_note(&gateway->shares, share))
        gateway->has_event(gateway->opaque);
}

static void pass_slirp(struct gateway *gateway, const struct frame *frame)
{
    uint8_t announcement[NEIGHBOURS_FRAME];
    size_t length = neighbours_meet(&gateway->neighbours, frame, announcement);

    if (length > 0)
        slirp_stack_input(gateway->stack, announcement, length);
    count_from_guest(gateway, frame);
    slirp_stack_input(gateway->stack, frame->data, frame->length);
}

/* Return whether there is room for a connection. One beyond the limit has to
 * wait: the guest retries until others have ended. Only a SYN makes slirp open
 * a socket. */
static bool has_room(struct gateway *gateway, const struct frame *frame,
                     bool dns)
{
    const unsigned *limit = gateway->shares.limit;

    if (!(frame->tcp_flags & FRAME_SYN) ||
        slirp_stack_sockets(gateway->stack) <
            limit[SHARE_TCP] + (dns ? limit[SHARE_TCP_DNS] : 0))
        return true;
    note_limit(gateway, dns ? SHARE_TCP_DNS : SHARE_TCP);
    return false;
}

static void pass(struct gateway *gateway, const struct frame *frame, bool dns)
{
    enum share share = dns ? SHARE_DNS : SHARE_UDP;

    if (frame->protocol == FRAME_TCP) {
        if (has_room(gateway, frame, dns))
            pass_slirp(gateway, frame);
        else
            gateway->dropped++;
        return;
    }
    if (frame->protocol != FRAME_UDP)
        share = SHARE_ECHO;
    count_from_guest(gateway, frame);
    if (flows_input(gateway->flows, share, gateway->shares.limit[share], frame))
        note_limit(gateway, share);
}

/* Reply to a refused frame, so that the guest does not wait for a timeout. */
static void reject(struct gateway *gateway, const struct frame *frame,
                   int64_t now_ms)
{
    uint8_t answer[REJECTION_MAX];
    size_t length = 0;

    gateway->refused_count++;
    if (gateway->second != now_ms / 1000) {
        gateway->second = now_ms / 1000;
        gateway->rejections = 0;
    }
    if (gateway->rejections++ < REJECTIONS_PER_SECOND)
        length = rejection_build(frame, answer);
    if (length > 0)
        send_to_guest(answer, length, gateway);
}

static void refuse(struct gateway *gateway, const struct frame *frame,
                   int64_t now_ms)
{
    const char *name = names_find(gateway->names, &frame->target);

    if (name ? refusals_add_name(&gateway->refusals, name, "tcp",
                                 frame->target_port, NULL)
             : refusals_add(&gateway->refusals, frame))
        gateway->has_event(gateway->opaque);
    reject(gateway, frame, now_ms);
}

/* Answer a query here, or pass it to the name server. */
static void pass_query(struct gateway *gateway, struct frame *frame,
                       int64_t now_ms)
{
    uint8_t answer[NAMES_FRAME_MAX];
    size_t length = 0;

    if (network_policy_has_names(&gateway->filter.policy) &&
        frame->protocol == FRAME_UDP &&
        names_answer(gateway->names, frame, answer, &length)) {
        count_from_guest(gateway, frame);
        if (length > 0)
            send_to_guest(answer, length, gateway);
    } else if (gateway->own_dns && frame->protocol == FRAME_UDP) {
        refuse(gateway, frame, now_ms); /* the host has no server */
    } else {
        dns_alias_send(&gateway->alias, frame);
        pass(gateway, frame, true);
    }
}

static void judge(struct gateway *gateway, struct frame *frame)
{
    int64_t now_ms = g_get_monotonic_time() / 1000;
    struct frame whole;

    if (inbound_take(gateway->inbound, frame)) {
        count_from_guest(gateway, frame);
        return;
    }
    switch (frame_filter_from_guest(&gateway->filter, frame)) {
    case FILTER_PASS_SLIRP:
        pass_slirp(gateway, frame);
        break;
    case FILTER_PASS:
        dns_alias_note(&gateway->alias, frame);
        pass(gateway, frame, false);
        break;
    case FILTER_PASS_DNS:
        pass_query(gateway, frame, now_ms);
        break;
    case FILTER_PASS_NAME:
        pass(gateway, frame, false);
        break;
    case FILTER_PART:
        switch (part_table_add(&gateway->parts, frame, now_ms, &whole)) {
        case PART_WHOLE:
            judge(gateway, &whole);
            break;
        case PART_DROPPED:
            gateway->dropped++;
            break;
        case PART_KEPT:
            break;
        }
        break;
    case FILTER_CLOSED:
        reject(gateway, frame, now_ms);
        break;
    case FILTER_REFUSE:
        if (inbound_is_late(gateway->inbound, frame))
            reject(gateway, frame, now_ms);
        else
            refuse(gateway, frame, now_ms);
        break;
    case FILTER_DROP:
        gateway->dropped++;
        break;
    }
}

static void on_guest_frame(uint8_t *data, size_t length, void *opaque)
{
    struct gateway *gateway = opaque;
    struct frame frame;

    if (!frame_parse(data, length, &frame)) {
        gateway->dropped++;
        return;
    }
    inbound_meet(gateway->inbound, &frame);
    judge(gateway, &frame);
}

static bool may_answer(struct gateway *gateway, struct frame *frame)
{
    if (dns_alias_receive(&gateway->alias, frame))
        return gateway->filter.policy.dns ||
               network_policy_has_names(&gateway->filter.policy);
    return frame_filter_to_guest(&gateway->filter, frame);
}

/* Handle a frame from slirp, which may be longer than the guest's MTU: a reply
 * over IPv6, or if slirp's MTU is larger. */
static void on_slirp_frame(const uint8_t *data, size_t length, void *opaque)
{
    struct gateway *gateway = opaque;
    struct frame frame;

    if (length > sizeof(gateway->answer)) {
        gateway->dropped++;
        return;
    }
    memcpy(gateway->answer, data, length);
    if (frame_parse(gateway->answer, length, &frame) &&
        may_answer(gateway, &frame))
        part_split(&frame, ++gateway->packet, send_to_guest, gateway);
    else
        gateway->dropped++;
}

static void on_inbound_frame(struct frame *frame, void *opaque)
{
    struct gateway *gateway = opaque;

    part_split(frame, ++gateway->packet, send_to_guest, gateway);
}

static void on_inbound_full(void *opaque)
{
    note_limit(opaque, SHARE_INBOUND);
}

static const struct inbound_callbacks inbound_callbacks = {
    .send = on_inbound_frame,
    .full = on_inbound_full,
};

/* ---- set-up -------------------------------------------------------------- */

static void on_name_refused(void *opaque)
{
    struct gateway *gateway = opaque;

    gateway->has_event(gateway->opaque);
}

struct gateway *gateway_new(int fd, int proxy, unsigned files,
                            gateway_has_event has_event, void *opaque,
                            GError **error)
{
    struct gateway *gateway = g_new0(struct gateway, 1);

    gateway->stream = stream_new(fd, on_guest_frame, gateway);
    gateway->has_event = has_event;
    gateway->opaque = opaque;
    gateway->filter.policy.kind = NETWORK_DISABLED;
    shares_divide(&gateway->shares, files);
    slirp_stack_log();
    gateway->names = names_new(proxy, &gateway->filter.policy,
                               &gateway->refusals, on_name_refused, gateway);
    gateway->filter.names = names_table(gateway->names);
    gateway->inbound = inbound_new(gateway->shares.limit[SHARE_INBOUND],
                                   &inbound_callbacks, gateway);
    gateway->routes = host_routes_new(error);
    gateway->filter.is_host = host_routes_is_host;
    gateway->filter.opaque = gateway->routes;
    if (gateway->routes)
        return gateway;
    gateway_free(gateway);
    return NULL;
}

void gateway_free(struct gateway *gateway)
{
    if (!gateway)
        return;
    inbound_free(gateway->inbound);
    flows_free(gateway->flows);
    slirp_stack_free(gateway->stack);
    names_free(gateway->names);
    host_routes_free(gateway->routes);
    stream_free(gateway->stream);
    g_free(gateway);
}

/* The check of a connection's bytes cannot become stricter. */
static bool name_stays(const struct gateway *gateway, const char *name,
                       unsigned port)
{
    enum network_name_verdict verdict = network_policy_judge_name(
        &gateway->filter.policy, name, port);

    return verdict != NAME_DENIED &&
           verdict >= network_policy_judge_name(&gateway->before, name, port);
}

static bool stays(const struct network_address *peer, unsigned port,
                  void *opaque)
{
    static const struct network_address host[2] = {
        { false, { 10, 0, 2, 2 } },
        { true, { 0xfe, 0xc0, [15] = 2 } },
    };
    static const uint8_t loopback_v6[16] = { [15] = 1 };
    const struct gateway *gateway = opaque;

    const char *name = names_find(gateway->names, peer);

    if (name)
        return name_stays(gateway, name, port);
    if (gateway->filter.has_dns && !peer->v6 && port == DNS &&
        memcmp(peer->bytes, gateway->alias.server, 4) == 0)
        return gateway->filter.policy.dns ||
               network_policy_has_names(&gateway->filter.policy);
    if (peer->v6 ? memcmp(peer->bytes, loopback_v6, 16) == 0
                 : peer->bytes[0] == 127)
        peer = &host[peer->v6];
    return frame_filter_may_reach(&gateway->filter, peer, port);
}

/* Choose the address by which the guest knows the name server. If the host's
 * own is 10.0.2.3 (the host is a guest of the same kind) another address is
 * used, because slirp treats that one as its own. */
static void choose_alias(struct gateway *gateway, const uint8_t *dns)
{
    static const uint8_t usual[4] = { 10, 0, 2, 3 };

    memcpy(gateway->alias.guest, usual, 4);
    if (dns && memcmp(dns, usual, 4) == 0)
        gateway->alias.guest[3] = 4;
    memcpy(gateway->filter.dns, gateway->alias.guest, 4);
}

/* Choose the server of the queries that are not answered at once: the host's,
 * or, over TCP, this process. */
static void choose_server(struct gateway *gateway,
                          const struct network_policy *policy,
                          const uint8_t *dns)
{
    bool host = dns && memcmp(dns, gateway->alias.guest, 4) != 0;
    const uint8_t *server = host ? dns : NULL;

    gateway->own_dns = network_policy_has_names(policy) &&
                       !(host && policy->dns);
    if (gateway->own_dns)
        server = names_server;
    gateway->alias.has_server = server != NULL;
    if (gateway->alias.has_server)
        memcpy(gateway->alias.server, server, 4);
    gateway->filter.has_dns = gateway->alias.has_server;
}

void gateway_configure(struct gateway *gateway,
                       const struct network_policy *policy,
                       const uint8_t dns[4])
{
    if (!gateway->stack) {
        choose_alias(gateway, dns);
        gateway->stack = slirp_stack_new(gateway->alias.guest, true,
                                         on_slirp_frame, gateway);
        gateway->flows = flows_new(gateway->alias.guest, on_slirp_frame,
                                   gateway);
    }
    choose_server(gateway, policy, dns);
    gateway->before = gateway->filter.policy;
    gateway->filter.policy = *policy;
    memset(&gateway->refusals, 0, sizeof(gateway->refusals));
    shares_begin(&gateway->shares);
    slirp_stack_cut(gateway->stack, stays, gateway);
}

void gateway_report_again(struct gateway *gateway)
{
    memset(&gateway->refusals, 0, sizeof(gateway->refusals));
}

struct inbound *gateway_inbound(struct gateway *gateway)
{
    return gateway->inbound;
}

const struct network_policy *gateway_policy(const struct gateway *gateway)
{
    return &gateway->filter.policy;
}

json_t *gateway_take_event(struct gateway *gateway, const char **ret_type)
{
    json_t *refusal = refusals_tell(&gateway->refusals);

    *ret_type = refusal ? "event.refused" : "event.limited";
    return refusal ? refusal : shares_tell(&gateway->shares);
}

json_t *gateway_count_bytes(const struct gateway *gateway)
{
    return json_pack("{s:I, s:I}", "from_guest",
                     (json_int_t)gateway->bytes_from_guest, "to_guest",
                     (json_int_t)gateway->bytes_to_guest);
}

json_t *gateway_count(const struct gateway *gateway)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "from_guest",
                     (json_int_t)gateway->from_guest, "to_guest",
                     (json_int_t)gateway->to_guest, "dropped",
                     (json_int_t)(gateway->dropped + gateway->parts.lost),
                     "refused", (json_int_t)gateway->refused_count);
}

/* ---- the loop ------------------------------------------------------------ */

void gateway_fill(struct gateway *gateway, GArray *fds, int *timeout)
{
    GPollFD stream = { .fd = stream_fd(gateway->stream) };

    gateway->polled = gateway->stack && !stream_is_full(gateway->stream);
    if (gateway->polled)
        stream.events |= G_IO_IN;
    if (stream_has_output(gateway->stream))
        stream.events |= G_IO_OUT;
    g_array_append_val(fds, stream);
    if (gateway->polled) {
        slirp_stack_fill(gateway->stack, fds, timeout);
        flows_fill(gateway->flows, fds, timeout);
        inbound_fill(gateway->inbound, fds, timeout);
    }
}

int gateway_poll(struct gateway *gateway, GArray *fds, bool failed)
{
    int fd = stream_fd(gateway->stream), rc = 0;
    gushort events = 0;

    for (guint i = 0; !failed && i < fds->len; i++) {
        const GPollFD *entry = &g_array_index(fds, GPollFD, i);

        if (entry->fd == fd)
            events |= entry->revents;
    }
    if (gateway->polled) {
        slirp_stack_poll(gateway->stack, fds, failed);
        flows_poll(gateway->flows, fds, failed);
        inbound_poll(gateway->inbound, fds, failed);
    }
    if (events & G_IO_IN)
        rc = stream_read(gateway->stream);
    else if (events & (G_IO_HUP | G_IO_ERR | G_IO_NVAL))
        rc = -EPIPE;
    if (rc == 0)
        rc = stream_flush(gateway->stream);
    return rc;
}
