/* SPDX-License-Identifier: Apache-2.0
 *
 * net-parts-test - fragments of packets: reassembly, and splitting
 * (net/part_*.h).
 */
#include <glib.h>
#include <string.h>

#include "net/part_split.h"
#include "net/part_table.h"
#include "tests/net/parts_rig.h"

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
        parts_rig_begin();
        for (n = 0; n < 4; n++) {
            size_t from = (order >> n * 2 & 3) * size;

            g_assert_cmpint(verdict, ==, PART_KEPT);
            verdict = parts_rig_add_of(
                (struct part){ .v6 = v6,
                               .id = 7,
                               .offset = from,
                               .length = MIN(size, total - from),
                               .more = from + size < total },
                total, &whole);
        }
        g_assert_cmpint(verdict, ==, PART_WHOLE);
        parts_rig_check_whole(&whole, v6, total);
        g_assert_cmpuint(parts_rig_table->lost, ==, 0);
    }
}

static void test_longest(void)
{
    for (int v6 = 0; v6 < 2; v6++) {
        size_t total = v6 ? 65535 : 65515, from;
        struct frame whole;
        enum part_verdict verdict = PART_KEPT;

        parts_rig_begin();
        for (from = 0; from < total; from += 1440)
            verdict = parts_rig_add_of(
                (struct part){ .v6 = v6,
                               .offset = from,
                               .length = MIN(1440, total - from),
                               .more = from + 1440 < total },
                total, &whole);
        g_assert_cmpint(verdict, ==, PART_WHOLE);
        parts_rig_check_whole(&whole, v6, total);
        /* One byte more is refused (the "ping of death"). */
        parts_rig_begin();
        g_assert_cmpint(parts_rig_add((struct part){ .v6 = v6,
                                                     .offset = total / 8 * 8,
                                                     .length = total % 8 + 1 }),
                        ==, PART_DROPPED);
        g_assert_cmpint(parts_rig_add((struct part){
                            .v6 = v6, .offset = 65528, .length = 1400 }),
                        ==, PART_DROPPED);
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
        parts_rig_begin();
        g_assert_cmpint(parts_rig_add(others[i]), ==, PART_KEPT);
        g_assert_cmpint(parts_rig_add_of(last, 24, &whole), ==, PART_KEPT);
        g_assert_cmpint(parts_rig_add_of(first, 24, &whole), ==, PART_WHOLE);
        parts_rig_check_whole(&whole, false, 24);
    }
}

/* RFC 6946: it is independent of others with its id. */
static void test_alone(void)
{
    struct frame whole;

    parts_rig_begin();
    g_assert_cmpint(
        parts_rig_add((struct part){ .v6 = true, .length = 16, .more = 1 }), ==,
        PART_KEPT);
    g_assert_cmpint(
        parts_rig_add_of((struct part){ .v6 = true, .length = 29 }, 29, &whole),
        ==, PART_WHOLE);
    parts_rig_check_whole(&whole, true, 29);
    g_assert_cmpint(
        parts_rig_add_of((struct part){ .v6 = true, .offset = 16, .length = 3 },
                         19, &whole),
        ==, PART_WHOLE);
}

/* ---- tricks -------------------------------------------------------------- */

/* RFC 5722: the packet is discarded, and so is everything that belongs to it.
 */
static void check_spoilt(struct part first, struct part second)
{
    struct frame whole;

    parts_rig_begin();
    g_assert_cmpint(parts_rig_add(first), ==, PART_KEPT);
    g_assert_cmpint(parts_rig_add(second), ==, PART_DROPPED);
    for (size_t from = 0; from < 64; from += 8)
        g_assert_cmpint(parts_rig_add_of((struct part){ .v6 = first.v6,
                                                        .offset = from,
                                                        .length = 8,
                                                        .more = from < 56 },
                                         64, &whole),
                        ==, PART_DROPPED);
    g_assert_cmpuint(parts_rig_table->lost, ==, 1);
    parts_rig_now += PART_TABLE_WAIT_MS;
    g_assert_cmpint(parts_rig_add(first), ==, PART_KEPT);
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

    parts_rig_begin();
    g_assert_cmpint(parts_rig_add_of((struct part){ .offset = 8, .length = 13 },
                                     21, &whole),
                    ==, PART_KEPT);
    g_assert_cmpint(parts_rig_add_of((struct part){ .length = 8, .more = true },
                                     21, &whole),
                    ==, PART_WHOLE);
    parts_rig_check_whole(&whole, false, 21);
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

    parts_rig_begin();
    for (size_t i = 0; i < G_N_ELEMENTS(unfit); i++)
        g_assert_cmpint(parts_rig_add(unfit[i]), ==, PART_DROPPED);
    for (size_t i = 0; i < PART_TABLE_SLOTS; i++)
        g_assert_false(parts_rig_table->slots[i].used);
}

/* ---- bounds -------------------------------------------------------------- */

static void test_oldest_goes(void)
{
    struct part first = { .length = 8, .more = true };
    struct part last = { .offset = 8, .length = 8 };
    struct frame whole;

    parts_rig_begin();
    for (unsigned id = 0; id <= PART_TABLE_SLOTS; id++) {
        first.id = id;
        parts_rig_now++;
        g_assert_cmpint(parts_rig_add_of(first, 16, &whole), ==, PART_KEPT);
    }
    g_assert_cmpuint(parts_rig_table->lost, ==, 1);
    last.id = 1;
    g_assert_cmpint(parts_rig_add_of(last, 16, &whole), ==, PART_WHOLE);
    last.id = 0;
    g_assert_cmpint(parts_rig_add_of(last, 16, &whole), ==, PART_KEPT);
    last.id = PART_TABLE_SLOTS;
    g_assert_cmpint(parts_rig_add_of(last, 16, &whole), ==, PART_WHOLE);
}

static void test_time(void)
{
    struct part first = { .length = 8, .more = true };
    struct part last = { .offset = 8, .length = 8 };
    struct frame whole;

    parts_rig_begin();
    g_assert_cmpint(parts_rig_add_of(first, 16, &whole), ==, PART_KEPT);
    parts_rig_now += PART_TABLE_WAIT_MS - 1;
    g_assert_cmpint(parts_rig_add_of(last, 16, &whole), ==, PART_WHOLE);
    g_assert_cmpint(parts_rig_add_of(first, 16, &whole), ==, PART_KEPT);
    parts_rig_now += PART_TABLE_WAIT_MS;
    g_assert_cmpint(parts_rig_add_of(last, 16, &whole), ==, PART_KEPT);
    g_assert_cmpuint(parts_rig_table->lost, ==, 1);
}

/* For any fragments in any order: a complete packet has the bytes of its
 * fragments. */
static void test_random(void)
{
    g_autoptr(GRand) dice = g_rand_new_with_seed(1);
    unsigned wholes = 0;
    struct frame whole;

    parts_rig_begin();
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
        parts_rig_now += g_rand_int_range(dice, 0, 1000);
        if (parts_rig_add_of(part, 40, &whole) != PART_WHOLE)
            continue;
        parts_rig_check_whole(&whole, part.v6, 40);
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
        sent->verdict = part_table_add(parts_rig_table, &frame, parts_rig_now,
                                       &sent->whole);
}

/* Made whole, split, and reassembled. */
static void split(bool v6, size_t total, unsigned count)
{
    static uint8_t data[PARTS_RIG_BUFFER];
    const size_t header = FRAME_HEADER + FRAME_IPV6_HEADER + FRAME_PART_HEADER;
    size_t size = 8 * 1024, from;
    struct frame frame, whole;
    struct sent sent = { 0 };

    parts_rig_begin();
    for (from = 0; from < total; from += size)
        parts_rig_add_of((struct part){ .v6 = v6,
                                        .offset = from,
                                        .length = MIN(size, total - from),
                                        .more = from + size < total },
                         total, &whole);
    if (total <= size) { /* the header of a packet that is not split */
        parts_rig_build(&(struct part){ .v6 = true,
                                        .length = total,
                                        .protocol = FRAME_UDP },
                        total, data);
        g_assert_true(v6 && frame_parse(data, header + total, &frame));
        part_table_add(parts_rig_table, &frame, parts_rig_now, &whole);
    }
    memmove(data, whole.data, whole.length);
    g_assert_true(frame_parse(data, whole.length, &whole));
    part_split(&whole, 0x12345678, take_part, &sent);
    g_assert_cmpuint(sent.count, ==, count);
    if (count > 1) {
        g_assert_cmpint(sent.verdict, ==, PART_WHOLE);
        parts_rig_check_whole(&sent.whole, v6, total);
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
    static uint8_t data[PARTS_RIG_BUFFER];
    struct sent sent = { 0 };
    struct frame frame;
    const struct part part = { .protocol = FRAME_TCP,
                               .length = NETWORK_LINK_MTU - FRAME_IPV4_HEADER };

    g_assert_true(
        frame_parse(data, parts_rig_build(&part, part.length, data), &frame));
    part_split(&frame, 0, take_part, &sent);
    g_assert_cmpuint(sent.count, ==, 1);
}

/* Fragments that slirp has already made, for a larger MTU. */
static void test_split_parts(void)
{
    static uint8_t data[PARTS_RIG_BUFFER];
    struct sent sent = { 0 };

    parts_rig_begin();
    for (size_t from = 0; from < 20000; from += 8976) {
        const struct part part = { .protocol = FRAME_UDP,
                                   .offset = from,
                                   .length = MIN(8976, 20000 - from),
                                   .more = from + 8976 < 20000 };
        struct frame frame;

        g_assert_cmpint(sent.verdict, ==, PART_KEPT);
        g_assert_true(
            frame_parse(data, parts_rig_build(&part, 20000, data), &frame));
        part_split(&frame, 0, take_part, &sent);
    }
    g_assert_cmpint(sent.verdict, ==, PART_WHOLE);
    parts_rig_check_whole(&sent.whole, false, 20000);
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
