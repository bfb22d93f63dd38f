/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-frame - a hostile guest's frames in the filter (frame_filter.h).
 *
 * An input is one byte and frames, each after its length in two bytes. The
 * byte's lower bits choose the policy; bit 7: correct the checksum of each IPv4
 * header. A separate implementation checks where accepted frames go, also
 * reassembled ones; a frame that is too long for the guest is split, and must
 * be the same after reassembly.
 */
#include <stdlib.h>
#include <string.h>

#include "net/dns_alias.h"
#include "net/frame_filter.h"
#include "net/neighbours.h"
#include "net/part_split.h"
#include "net/part_table.h"
#include "net/refusals.h"
#include "net/rejection.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const policies[] = {
    "\"open\"",
    "\"disabled\"",
    "{\"allow\":[\"198.51.100.0/25\",\"2001:db8:1::/48\"]}",
    "{\"allow\":[\"198.51.100.0/25\",\"10.0.2.2\"],\"dns\":true}",
    "{\"allow\":[\"198.51.100.0/25:8000\",\"[2001:db8:1::/48]:8000\"]}",
};

static const uint8_t dns[4] = { 10, 0, 2, 3 }, server[4] = { 9, 9, 9, 9 };

struct world {
    unsigned policy;
    struct frame_filter filter;
    struct dns_alias alias;
    struct neighbours neighbours;
    struct refusals refusals;
    int64_t now_ms;
};

/* Too large to clear for each input; unused parts have no meaning. */
static struct part_table parts, parts_to_guest;

static void empty(struct part_table *table)
{
    for (unsigned i = 0; i < PART_TABLE_SLOTS; i++)
        table->slots[i].used = false;
}

/* 198.51.100.1 and all IPv6 addresses with this ending. */
static bool is_host(const struct network_address *address, void *opaque)
{
    return address->bytes[address->v6 ? 15 : 3] == 1;
}

static void set_up(struct world *world, unsigned policy)
{
    json_t *json = json_loads(policies[policy], JSON_DECODE_ANY, NULL);

    memset(world, 0, sizeof(*world));
    empty(&parts);
    g_assert_true(network_policy_parse(json, &world->filter.policy, NULL));
    json_decref(json);
    world->policy = policy;
    world->filter.has_dns = true;
    world->filter.is_host = is_host;
    memcpy(world->filter.dns, dns, 4);
    memcpy(world->alias.guest, dns, 4);
    memcpy(world->alias.server, server, 4);
    world->alias.has_server = true;
}

static bool is_listed(const uint8_t *ip)
{
    return ip[0] == 198 && ip[1] == 51 && ip[2] == 100 && ip[3] < 128 &&
           ip[3] != 1;
}

static bool is_zero(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i])
            return false;
    }
    return true;
}

/* Return whether it is TCP or UDP to port 8000; the IP header has this length,
 * and this protocol follows. */
static bool is_8000(const uint8_t *ip, size_t header, uint8_t protocol)
{
    return (protocol == 6 || protocol == 17) && ip[header + 2] == 8000 >> 8 &&
           ip[header + 3] == (8000 & 255);
}

/* Link-local addresses and cloud metadata services. */
static bool is_cloud(const uint8_t *ip)
{
    static const uint8_t addresses[][4] = { { 100, 100, 100, 200 },
                                            { 100, 96, 0, 96 },
                                            { 168, 63, 129, 16 },
                                            { 192, 0, 0, 192 } };

    for (size_t i = 0; i < G_N_ELEMENTS(addresses); i++) {
        if (memcmp(ip, addresses[i], 4) == 0)
            return true;
    }
    return ip[0] == 169 && ip[1] == 254;
}

/* Forbidden to a guest, if a translator makes it from an IPv6 address. */
static bool is_closed_ipv4(const uint8_t *ip)
{
    return ip[0] == 0 || ip[0] == 127 || ip[0] >= 224 || ip[3] == 1 ||
           memcmp(ip, dns, 3) == 0 || is_cloud(ip);
}

/* All but the guest's network, and what "open" lists; an address of the host
 * ends with 1. */
static bool may_go_ipv6(const uint8_t *to)
{
    static const uint8_t clouds[][16] = {
        { 0xfd, 0x20, 0, 0xce, [14] = 2, 0x54 },
        { 0xfd, 0, 0, 0xc1, [12] = 0xa9, 0xfe, 0xa9, 0xfe },
        { 0xfd, 0, 0, 0x42, [15] = 0x42 },
        { 0xfd, 0, 1, 0, [12] = 1, 0, 2, 0 },
    };
    uint8_t teredo[4];

    for (size_t i = 0; i < G_N_ELEMENTS(clouds); i++) {
        if (memcmp(to, clouds[i], 16) == 0)
            return false;
    }
    for (size_t i = 0; i < 4; i++)
        teredo[i] = to[12 + i] ^ 0xff;
    /* How a network translates 64:ff9b:1::/48 is unknown: not checked here. */
    return to[0] < 0xff &&
           (to[0] != 0xfe || to[1] < 0x80 || to[1] > 0xc0 ||
            (to[1] == 0xc0 && !is_zero(to + 2, 6))) &&
           !is_zero(to, 8) && to[15] != 1 &&
           memcmp(to, "\375\0\16\302", 4) != 0 &&
           (memcmp(to, "\0\144\377\233\0\0\0\0\0\0\0\0", 12) != 0 ||
            !is_closed_ipv4(to + 12)) &&
           (memcmp(to, "\40\2", 2) != 0 || !is_closed_ipv4(to + 2)) &&
           (memcmp(to, "\40\1\0\0", 4) != 0 || !is_closed_ipv4(teredo));
}

/* It has several interpretations: the oracle makes no statement. */
static bool is_local_nat64(const uint8_t *frame)
{
    return frame[13] == 0xdd &&
           memcmp(frame + 14 + 24, "\0\144\377\233\0\1", 6) == 0;
}

/* Return whether the frame may leave, by its bytes. */
static bool may_go(const struct world *world, const uint8_t *frame)
{
    const uint8_t *ip = frame + 14, *to = ip + 16, *to6 = ip + 24;
    static const uint8_t prefix[] = { 0x20, 1, 0x0d, 0xb8, 0, 1 };

    if (frame[13] == 0xdd && world->policy != 0)
        return (world->policy == 2 ||
                (world->policy == 4 && is_8000(ip, 40, ip[6]))) &&
               memcmp(to6, prefix, 6) == 0 && to6[15] != 1;
    if (frame[13] == 0xdd)
        return may_go_ipv6(to6);
    switch (world->policy) {
    case 0:
        return to[0] != 0 && to[0] != 127 && to[0] < 224 && to[3] != 1 &&
               memcmp(to, dns, 3) != 0 && !is_cloud(to);
    case 1:
        return false;
    case 2:
        return is_listed(to);
    case 4:
        return is_listed(to) && is_8000(ip, 20, ip[9]);
    default:
        return is_listed(to) || memcmp(to, "\12\0\2\2", 4) == 0;
    }
}

/* Return whether slirp answers it locally. */
static bool is_near(const uint8_t *frame)
{
    const uint8_t *ip = frame + 14;

    if (frame[13] == 0x06)
        return true;
    if (frame[13] == 0xdd)
        return ip[6] == 58;
    return (ip[9] == 1 && memcmp(ip + 16, "\12\0\2\2", 4) == 0 &&
            ip[20] == 8) ||
           (ip[9] == 17 && ip[22] == 0 && ip[23] == 67 &&
            (ip[16] == 255 || ip[19] == 2));
}

/* Neither fragments nor packets that slirp must never get of them. */
static void check_parts(const struct frame *frame)
{
    const uint8_t *ip = frame->data + 14;
    bool v6 = frame->data[13] == 0xdd;

    g_assert_true(frame->data[13] == 0x06 || v6 || (ip[6] & 0x3f) + ip[7] == 0);
    g_assert_true(!v6 || ip[6] != 44);
    g_assert_true(!frame->joined || ip[v6 ? 6 : 9] == 17 ||
                  (!v6 && ip[9] == 1 && ip[20] == 8));
    g_assert_true(!frame->joined || v6 || memcmp(ip + 16, "\377", 1) != 0);
}

static void check_pass(struct world *world, struct frame *frame,
                       enum filter_verdict verdict)
{
    uint8_t announcement[NEIGHBOURS_FRAME];
    struct frame told;
    size_t length;
    unsigned sum = frame_fold(frame_sum(0, frame->data + 14, 20));

    check_parts(frame);
    if (verdict == FILTER_PASS_DNS) {
        g_assert_true(world->policy == 0 || world->policy == 3);
        dns_alias_send(&world->alias, frame);
        g_assert_true(memcmp(frame->data + 30, server, 4) == 0);
        g_assert_true(sum != 0xffff ||
                      frame_fold(frame_sum(0, frame->data + 14, 20)) == 0xffff);
    } else {
        dns_alias_note(&world->alias, frame);
        g_assert_true(is_near(frame->data) || may_go(world, frame->data));
    }
    length = neighbours_meet(&world->neighbours, frame, announcement);
    g_assert_true(length == 0 || frame_parse(announcement, length, &told));
}

static void check_refusal(struct world *world, struct frame *frame)
{
    uint8_t answer[REJECTION_MAX];
    size_t length = rejection_build(frame, answer);
    struct frame told;

    g_assert_true(!may_go(world, frame->data) || is_local_nat64(frame->data));
    g_assert_true(length <= sizeof(answer));
    g_assert_true(length == 0 || frame_parse(answer, length, &told));
    refusals_add(&world->refusals, frame);
    json_decref(refusals_tell(&world->refusals));
}

static void judge(struct world *world, struct frame *frame)
{
    enum filter_verdict verdict = frame_filter_from_guest(&world->filter,
                                                          frame);
    struct frame whole;

    if (verdict == FILTER_PASS_SLIRP)
        g_assert_true(is_near(frame->data));
    if (verdict == FILTER_PASS || verdict == FILTER_PASS_DNS ||
        verdict == FILTER_PASS_SLIRP)
        check_pass(world, frame, verdict);
    else if (verdict == FILTER_REFUSE || verdict == FILTER_CLOSED)
        check_refusal(world, frame);
    else if (verdict == FILTER_PART &&
             part_table_add(&parts, frame, world->now_ms, &whole) == PART_WHOLE)
        judge(world, &whole);
}

/* ---- to the guest -------------------------------------------------------- */

struct rest {
    enum part_verdict verdict;
    struct frame whole;
};

static void take_part(const uint8_t *data, size_t length, void *opaque)
{
    struct rest *rest = opaque;
    uint8_t copy[FRAME_LINK_MAX];
    struct frame frame;

    g_assert_cmpuint(length, <=, sizeof(copy));
    memcpy(copy, data, length);
    g_assert_true(frame_parse(copy, length, &frame));
    if (frame.fragmented) /* otherwise it was mostly padding */
        rest->verdict = part_table_add(&parts_to_guest, &frame, 0,
                                       &rest->whole);
}

static void check_split(const struct frame *frame)
{
    struct rest rest = { 0 };
    bool can_join = frame->protocol == FRAME_UDP ||
                    (frame->type == FRAME_IPV4 &&
                     frame->protocol == FRAME_ICMP);

    empty(&parts_to_guest);
    part_split(frame, 7, take_part, &rest);
    if (can_join && !frame->fragmented &&
        frame->payload_length > FRAME_MTU - FRAME_IPV4_HEADER) {
        g_assert_true(rest.verdict == PART_WHOLE);
        g_assert_cmpmem(rest.whole.data + rest.whole.payload,
                        rest.whole.payload_length, frame->data + frame->payload,
                        frame->payload_length);
    }
}

static void take(struct world *world, uint8_t *data, size_t length)
{
    struct frame frame;

    world->now_ms += 500;
    if (!frame_parse(data, length, &frame))
        return;
    if (!dns_alias_receive(&world->alias, &frame))
        frame_filter_to_guest(&world->filter, &frame);
    if (length > FRAME_MAX)
        check_split(&frame);
    g_assert_true(frame_parse(data, length, &frame));
    judge(world, &frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *world = g_new(struct world, 1);
    size_t at = 1;

    if (size > 0)
        set_up(world, (data[0] & 7) % G_N_ELEMENTS(policies));
    while (size > 2 && at < size - 2) {
        size_t length = MIN(frame_get16(data + at) & 0x7ff, size - at - 2);
        uint8_t *frame = g_memdup2(data + at + 2, length);

        if (data[0] & 0x80 && length >= 34) {
            frame_put16(frame + 24, 0);
            frame_put16(frame + 24,
                        ~frame_fold(frame_sum(0, frame + 14, 20)) & 0xffff);
        }
        take(world, frame, length);
        g_free(frame);
        at += 2 + length;
    }
    g_free(world);
    return 0;
}
