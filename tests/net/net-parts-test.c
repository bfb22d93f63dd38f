/* SPDX-License-Identifier: Apache-2.0
 *
 * net-parts-test - fragments of packets: reassembly, and splitting
 * (net/part_*.h).
 */
#include <glib.h>
#include <string.h>

#include "net/part_split.h"
#include "net/part_table.h"

enum { BUFFER = FRAME_WHOLE_MAX + 8 };

struct part {
    bool v6;
    unsigned protocol;
    uint32_t id;
    size_t offset, length;
    bool more;
    int fill; /* each byte; 0: what whole_byte() says */
    unsigned guest;
};

static struct part_table *table;
static int64_t now;

/* Return the byte of a packet at this place: UDP from 1024 to 53, and a
 * pattern. */
static uint8_t whole_byte(size_t at, size_t total)
{
    static const uint8_t ports[] = { 4, 0, 0, 53 };

    if (at < 4)
        return ports[at];
    if (at < 6)
        return (uint8_t)(total >> (5 - at) * 8);
    return (uint8_t)(at * 7 + at / 251);
}

static size_t build(const struct part *part, size_t total, uint8_t *data)
{
    uint8_t *ip = data + FRAME_HEADER, *payload;

    memset(data, 0, FRAME_HEADER + FRAME_IPV6_HEADER);
    memset(data + FRAME_MAC, 2, FRAME_MAC);
    if (part->v6) {
        frame_put16(data + 12, FRAME_IPV6);
        ip[0] = 0x60;
        frame_put16(ip + 4, (unsigned)part->length + FRAME_PART_HEADER);
        ip[6] = FRAME_PART;
        ip[7] = 64;
        ip[8] = 0xfe;
        ip[23] = (uint8_t)(15 + part->guest);
        ip[24] = 0x20;
        payload = ip + FRAME_IPV6_HEADER + FRAME_PART_HEADER;
        payload[-8] = (uint8_t)part->protocol;
        payload[-7] = 0;
        frame_put16(payload - 6, (unsigned)part->offset | part->more);
        frame_put16(payload - 4, part->id >> 16);
        frame_put16(payload - 2, part->id & 0xffff);
    } else {
        frame_put16(data + 12, FRAME_IPV4);
        ip[0] = 0x45;
        frame_put16(ip + 2, (unsigned)part->length + FRAME_IPV4_HEADER);
        frame_put16(ip + 4, part->id & 0xffff);
        frame_put16(ip + 6,
                    (unsigned)part->offset / 8 | (part->more ? 0x2000 : 0));
        ip[8] = 64;
        ip[9] = (uint8_t)part->protocol;
        memcpy(ip + 12, "\12\0\2\17\11\11\11\11", 8);
        ip[15] = (uint8_t)(15 + part->guest);
        payload = ip + FRAME_IPV4_HEADER;
    }
    for (size_t i = 0; i < part->length; i++)
        payload[i] = part->fill ? (uint8_t)part->fill
                                : whole_byte(part->offset + i, total);
    return (size_t)(payload - data) + part->length;
}

/* Of UDP by default. */
static enum part_verdict add_of(struct part part, size_t total,
                                struct frame *ret_whole)
{
    static uint8_t data[BUFFER];
    struct frame frame;

    if (part.protocol == 0)
        part.protocol = FRAME_UDP;
    if (!frame_parse(data, build(&part, total, data), &frame))
        return PART_DROPPED;
    g_assert_true(frame.fragmented);
    return part_table_add(table, &frame, now, ret_whole);
}

static enum part_verdict add(struct part part)
{
    struct frame whole;

    return add_of(part, 0, &whole);
}

static void check_whole(const struct frame *whole, bool v6, size_t total)
{
    const uint8_t *ip = whole->data + FRAME_HEADER;

    g_assert_true(whole->joined && !whole->fragmented && whole->first);
    g_assert_cmpuint(whole->type, ==, v6 ? FRAME_IPV6 : FRAME_IPV4);
    g_assert_cmpuint(whole->protocol, ==, FRAME_UDP);
    g_assert_cmpuint(whole->source_port, ==, 1024);
    g_assert_cmpuint(whole->target_port, ==, 53);
    g_assert_cmpuint(whole->payload_length, ==, total);
    g_assert_cmpuint(whole->length, ==, whole->payload + total);
    if (!v6)
        g_assert_cmphex(frame_fold(frame_sum(0, ip, 20)), ==, 0xffff);
    for (size_t i = 0; i < total; i++)
        g_assert_cmphex(whole->data[whole->payload + i], ==,
                        whole_byte(i, total));
}

static void begin(void)
{
    g_free(table);
    table = g_new0(struct part_table, 1);
    now = 1000;
}

/* ---- joining ------------------------------------------------------------- */

/* Four fragments in each order. */
static void test_orders(gconstpointer data)
{
    bool v6 = GPOINTER_TO_INT(data);
    const size_t total = 4003, size = 1200;

    for (unsigned order = 0; order < 256; order++) {
        unsigned seen = 0, n;
        struct frame whole;
        enum part_verdict verdict = PART_KEPT;

        for (n = 0; n < 4; n++)
            seen |= 1u << (order >> n * 2 & 3);
        if (seen != 15)
            continue;
        begin();
        for (n = 0; n < 4; n++) {
            size_t from = (order >> n * 2 & 3) * size;

            g_assert_cmpint(verdict, ==, PART_KEPT);
            verdict = add_of((struct part){ .v6 = v6,
                                            .id = 7,
                                            .offset = from,
                                            .length = MIN(size, total - from),
                                            .more = from + size < total },
                             total, &whole);
        }
        g_assert_cmpint(verdict, ==, PART_WHOLE);
        check_whole(&whole, v6, total);
        g_assert_cmpuint(table->lost, ==, 0);
    }
}

static void test_longest(void)
{
    for (int v6 = 0; v6 < 2; v6++) {
        size_t total = v6 ? 65535 : 65515, from;
        struct frame whole;
        enum part_verdict verdict = PART_KEPT;

        begin();
        for (from = 0; from < total; from += 1440)
            verdict = add_of((struct part){ .v6 = v6,
                                            .offset = from,
                                            .length = MIN(1440, total - from),
                                            .more = from + 1440 < total },
                             total, &whole);
        g_assert_cmpint(verdict, ==, PART_WHOLE);
        check_whole(&whole, v6, total);
        /* One byte more is refused (the "ping of death"). */
        begin();
        g_assert_cmpint(add((struct part){ .v6 = v6,
                                           .offset = total / 8 * 8,
                                           .length = total % 8 + 1 }),
                        ==, PART_DROPPED);
        g_assert_cmpint(
            add((struct part){ .v6 = v6, .offset = 65528, .length = 1400 }), ==,
            PART_DROPPED);
    }
}

static void test_kept_apart(void)
{
    const struct part first = { .id = 1, .length = 16, .more = true };
    struct part others[] = { first, first, first, first };
    struct part last = { .id = 1, .offset = 16, .length = 8 };
    struct frame whole;

    others[0].id = 2;
    others[1].guest = 1;
    others[2].protocol = FRAME_ICMP;
    others[3].v6 = true;
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        begin();
        g_assert_cmpint(add(others[i]), ==, PART_KEPT);
        g_assert_cmpint(add_of(last, 24, &whole), ==, PART_KEPT);
        g_assert_cmpint(add_of(first, 24, &whole), ==, PART_WHOLE);
        check_whole(&whole, false, 24);
    }
}

/* RFC 6946: it is independent of others with its id. */
static void test_alone(void)
{
    struct frame whole;

    begin();
    g_assert_cmpint(add((struct part){ .v6 = true, .length = 16, .more = 1 }),
                    ==, PART_KEPT);
    g_assert_cmpint(
        add_of((struct part){ .v6 = true, .length = 29 }, 29, &whole), ==,
        PART_WHOLE);
    check_whole(&whole, true, 29);
    g_assert_cmpint(
        add_of((struct part){ .v6 = true, .offset = 16, .length = 3 }, 19,
               &whole),
        ==, PART_WHOLE);
}

/* ---- tricks -------------------------------------------------------------- */

/* RFC 5722: the packet is discarded, and so is everything that belongs to it.
 */
static void check_spoilt(struct part first, struct part second)
{
    struct frame whole;

    begin();
    g_assert_cmpint(add(first), ==, PART_KEPT);
    g_assert_cmpint(add(second), ==, PART_DROPPED);
    for (size_t from = 0; from < 64; from += 8)
        g_assert_cmpint(add_of((struct part){ .v6 = first.v6,
                                              .offset = from,
                                              .length = 8,
                                              .more = from < 56 },
                               64, &whole),
                        ==, PART_DROPPED);
    g_assert_cmpuint(table->lost, ==, 1);
    now += PART_TABLE_WAIT_MS;
    g_assert_cmpint(add(first), ==, PART_KEPT);
}

static void test_overlaps(void)
{
    for (int v6 = 0; v6 < 2; v6++) {
        const struct part first = { .v6 = v6, .length = 16, .more = true };
        const struct part last = { .v6 = v6, .offset = 16, .length = 12 };
        /* Overlap the ports. */
        const struct part ports = {
            .v6 = v6, .length = 8, .more = true, .fill = 9
        };
        const struct part middle = {
            .v6 = v6, .offset = 8, .length = 24, .more = true
        };

        check_spoilt(first, first);
        check_spoilt(first, ports);
        check_spoilt(ports, first);
        check_spoilt(first, middle);
        check_spoilt(middle, first);
        check_spoilt(last, middle);
        check_spoilt(middle, last);
    }
}

static void test_two_ends(void)
{
    const struct part last = { .offset = 64, .length = 5 };

    check_spoilt(last, (struct part){ .offset = 128, .length = 5 });
    check_spoilt(last, (struct part){ .offset = 32, .length = 5 });
    check_spoilt(last, (struct part){ .offset = 72, .length = 8, .more = 1 });
    check_spoilt((struct part){ .offset = 72, .length = 8, .more = 1 }, last);
}

/* RFC 1858: the shortest first fragment has the ports of UDP nevertheless, and
 * its order does not matter. */
static void test_tiny(void)
{
    struct frame whole;

    begin();
    g_assert_cmpint(
        add_of((struct part){ .offset = 8, .length = 13 }, 21, &whole), ==,
        PART_KEPT);
    g_assert_cmpint(
        add_of((struct part){ .length = 8, .more = true }, 21, &whole), ==,
        PART_WHOLE);
    check_whole(&whole, false, 21);
}

static void test_unfit(void)
{
    const struct part unfit[] = {
        { .protocol = FRAME_TCP, .length = 24, .more = true },
        { .protocol = FRAME_TCP, .offset = 8, .length = 24 },
        { .protocol = FRAME_ICMPV6, .v6 = true, .length = 24, .more = true },
        { .protocol = FRAME_ICMP, .v6 = true, .length = 24, .more = true },
        { .protocol = FRAME_PART, .v6 = true, .length = 24, .more = true },
        { .protocol = 47, .length = 24, .more = true },
        { .offset = 8, .length = 0 },
        { .offset = 8, .length = 0, .more = true },
        { .offset = 8, .length = 12, .more = true },
        { .length = 4, .more = true },
    };

    begin();
    for (size_t i = 0; i < G_N_ELEMENTS(unfit); i++)
        g_assert_cmpint(add(unfit[i]), ==, PART_DROPPED);
    for (size_t i = 0; i < PART_TABLE_SLOTS; i++)
        g_assert_false(table->slots[i].used);
}

/* ---- bounds -------------------------------------------------------------- */

static void test_oldest_goes(void)
{
    struct part first = { .length = 8, .more = true };
    struct part last = { .offset = 8, .length = 8 };
    struct frame whole;

    begin();
    for (unsigned id = 0; id <= PART_TABLE_SLOTS; id++) {
        first.id = id;
        now++;
        g_assert_cmpint(add_of(first, 16, &whole), ==, PART_KEPT);
    }
    g_assert_cmpuint(table->lost, ==, 1);
    last.id = 1;
    g_assert_cmpint(add_of(last, 16, &whole), ==, PART_WHOLE);
    last.id = 0;
    g_assert_cmpint(add_of(last, 16, &whole), ==, PART_KEPT);
    last.id = PART_TABLE_SLOTS;
    g_assert_cmpint(add_of(last, 16, &whole), ==, PART_WHOLE);
}

static void test_time(void)
{
    struct part first = { .length = 8, .more = true };
    struct part last = { .offset = 8, .length = 8 };
    struct frame whole;

    begin();
    g_assert_cmpint(add_of(first, 16, &whole), ==, PART_KEPT);
    now += PART_TABLE_WAIT_MS - 1;
    g_assert_cmpint(add_of(last, 16, &whole), ==, PART_WHOLE);
    g_assert_cmpint(add_of(first, 16, &whole), ==, PART_KEPT);
    now += PART_TABLE_WAIT_MS;
    g_assert_cmpint(add_of(last, 16, &whole), ==, PART_KEPT);
    g_assert_cmpuint(table->lost, ==, 1);
}

/* For any fragments in any order: a complete packet has the bytes of its
 * fragments. */
static void test_random(void)
{
    g_autoptr(GRand) dice = g_rand_new_with_seed(1);
    unsigned wholes = 0;
    struct frame whole;

    begin();
    for (int i = 0; i < 200000; i++) {
        size_t from = (size_t)g_rand_int_range(dice, 0, 5) * 8;
        struct part part = { .v6 = g_rand_boolean(dice),
                             .id = (uint32_t)g_rand_int_range(dice, 0, 3),
                             .offset = from,
                             .length = (size_t)g_rand_int_range(dice, 1, 4) * 8,
                             .more = g_rand_boolean(dice) };

        if (!part.more)
            part.length = 40 - from;
        if (!part.more && from == 0 && !part.v6)
            continue;
        now += g_rand_int_range(dice, 0, 1000);
        if (add_of(part, 40, &whole) != PART_WHOLE)
            continue;
        check_whole(&whole, part.v6, 40);
        wholes++;
    }
    g_assert_cmpuint(wholes, >, 1000);
}

/* ---- splitting ----------------------------------------------------------- */

struct sent {
    unsigned count;
    enum part_verdict verdict;
    struct frame whole;
};

static void take_part(const uint8_t *data, size_t length, void *opaque)
{
    struct sent *sent = opaque;
    g_autofree uint8_t *copy = g_memdup2(data, length);
    struct frame frame;

    g_assert_true(frame_parse(copy, length, &frame));
    g_assert_cmpuint(length, <=,
                     frame.protocol == FRAME_TCP ? FRAME_LINK_MAX : FRAME_MAX);
    sent->count++;
    if (frame.fragmented)
        sent->verdict = part_table_add(table, &frame, now, &sent->whole);
}

/* Made whole, split, and reassembled. */
static void split(bool v6, size_t total, unsigned count)
{
    static uint8_t data[BUFFER];
    const size_t header = FRAME_HEADER + FRAME_IPV6_HEADER + FRAME_PART_HEADER;
    size_t size = 8 * 1024, from;
    struct frame frame, whole;
    struct sent sent = { 0 };

    begin();
    for (from = 0; from < total; from += size)
        add_of((struct part){ .v6 = v6,
                              .offset = from,
                              .length = MIN(size, total - from),
                              .more = from + size < total },
               total, &whole);
    if (total <= size) { /* the header of a packet that is not split */
        build(&(struct part){ .v6 = true,
                              .length = total,
                              .protocol = FRAME_UDP },
              total, data);
        g_assert_true(v6 && frame_parse(data, header + total, &frame));
        part_table_add(table, &frame, now, &whole);
    }
    memmove(data, whole.data, whole.length);
    g_assert_true(frame_parse(data, whole.length, &whole));
    part_split(&whole, 0x12345678, take_part, &sent);
    g_assert_cmpuint(sent.count, ==, count);
    if (count > 1) {
        g_assert_cmpint(sent.verdict, ==, PART_WHOLE);
        check_whole(&sent.whole, v6, total);
    }
}

static void test_split(void)
{
    split(false, 9000, 7);
    split(false, 65515, 45);
    split(true, 1460, 1);
    split(true, 1461, 2);
    split(true, 2 * 1448, 2);
    split(true, 2 * 1448 + 1, 3);
    split(true, 65535, 46);
}

/* The sizes of TCP segments are the guest's choice. */
static void test_segments(void)
{
    static uint8_t data[BUFFER];
    struct sent sent = { 0 };
    struct frame frame;
    const struct part part = { .protocol = FRAME_TCP,
                               .length = NETWORK_LINK_MTU - FRAME_IPV4_HEADER };

    g_assert_true(frame_parse(data, build(&part, part.length, data), &frame));
    part_split(&frame, 0, take_part, &sent);
    g_assert_cmpuint(sent.count, ==, 1);
}

/* Fragments that slirp has already made, for a larger MTU. */
static void test_split_parts(void)
{
    static uint8_t data[BUFFER];
    struct sent sent = { 0 };

    begin();
    for (size_t from = 0; from < 20000; from += 8976) {
        const struct part part = { .protocol = FRAME_UDP,
                                   .offset = from,
                                   .length = MIN(8976, 20000 - from),
                                   .more = from + 8976 < 20000 };
        struct frame frame;

        g_assert_cmpint(sent.verdict, ==, PART_KEPT);
        g_assert_true(frame_parse(data, build(&part, 20000, data), &frame));
        part_split(&frame, 0, take_part, &sent);
    }
    g_assert_cmpint(sent.verdict, ==, PART_WHOLE);
    check_whole(&sent.whole, false, 20000);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/net-parts/orders/v4", GINT_TO_POINTER(0),
                         test_orders);
    g_test_add_data_func("/net-parts/orders/v6", GINT_TO_POINTER(1),
                         test_orders);
    g_test_add_func("/net-parts/longest", test_longest);
    g_test_add_func("/net-parts/kept-apart", test_kept_apart);
    g_test_add_func("/net-parts/alone", test_alone);
    g_test_add_func("/net-parts/overlaps", test_overlaps);
    g_test_add_func("/net-parts/two-ends", test_two_ends);
    g_test_add_func("/net-parts/tiny", test_tiny);
    g_test_add_func("/net-parts/unfit", test_unfit);
    g_test_add_func("/net-parts/oldest-goes", test_oldest_goes);
    g_test_add_func("/net-parts/time", test_time);
    g_test_add_func("/net-parts/random", test_random);
    g_test_add_func("/net-parts/split", test_split);
    g_test_add_func("/net-parts/segments", test_segments);
    g_test_add_func("/net-parts/split-parts", test_split_parts);
    return g_test_run();
}
