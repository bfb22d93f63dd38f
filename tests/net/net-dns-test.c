/* SPDX-License-Identifier: Apache-2.0
 *
 * net-dns-test - the answers to a guest's name queries, without a network.
 */
#include <glib.h>
#include <string.h>

#include "net/dns_udp.h"

struct world {
    struct network_policy policy;
    struct name_table *table;
    uint8_t query[2048];
    size_t length;
    struct dns_answer answer;
};

static void set_up(struct world *world, const char *list, bool dns)
{
    g_autofree char *text = g_strdup_printf("{\"allow\":[%s],\"dns\":%s}", list,
                                            dns ? "true" : "false");
    json_t *value = json_loads(text, 0, NULL);

    memset(world, 0, sizeof(*world));
    g_assert_true(network_policy_parse(value, &world->policy, NULL));
    json_decref(value);
    world->table = name_table_new();
}

static void put(struct world *world, const void *bytes, size_t length)
{
    g_assert_cmpuint(world->length + length, <=, sizeof(world->query));
    memcpy(world->query + world->length, bytes, length);
    world->length += length;
}

/* The id is 0x1234, the flags RD. */
static void put_query(struct world *world, const char *name, unsigned type)
{
    static const uint8_t head[12] = { 0x12, 0x34, 1, 0, 0, 1 };
    g_auto(GStrv) labels = g_strsplit(name, ".", -1);
    uint8_t tail[5] = { 0, (uint8_t)(type >> 8), (uint8_t)type, 0, 1 };

    world->length = 0;
    put(world, head, sizeof(head));
    for (char **label = labels; *label; label++) {
        uint8_t length = (uint8_t)strlen(*label);

        if (length > 0)
            put(world, &length, 1);
        put(world, *label, length);
    }
    put(world, tail, sizeof(tail));
}

static enum dns_outcome ask_bytes(struct world *world)
{
    /* A copy of this length, for tools that find reads beyond it. */
    g_autofree uint8_t *copy = g_malloc(world->length);

    if (copy)
        memcpy(copy, world->query, world->length);
    memset(&world->answer, 0xee, sizeof(world->answer));
    return dns_answer(&world->policy, world->table, copy, world->length,
                      &world->answer);
}

static enum dns_outcome ask(struct world *world, const char *name,
                            unsigned type)
{
    put_query(world, name, type);
    return ask_bytes(world);
}

/* Expect the code and number of records, and the query's own question. */
static void expect(struct world *world, unsigned code, unsigned records)
{
    const uint8_t *bytes = world->answer.bytes;
    static const uint8_t head[] = { 0x12, 0x34, 0x81 };

    g_assert_cmpint(world->answer.outcome, ==, DNS_ANSWERED);
    g_assert_cmpint(world->answer.code, ==, code);
    g_assert_cmpmem(bytes, 3, head, 3);
    g_assert_cmpuint(bytes[3], ==, 0x80 | code);
    g_assert_cmpuint(bytes[7], ==, records);
    g_assert_cmpuint(world->answer.length, ==, world->length + records * 16);
    g_assert_cmpmem(bytes + 12, world->length - 12, world->query + 12,
                    world->length - 12);
}

static void clear(struct world *world)
{
    name_table_free(world->table);
}

/* ---- answers ------------------------------------------------------------- */

static void test_answer_bytes(void)
{
    static const uint8_t expected[] = {
        0x12, 0x34, 0x81, 0x80, 0, 1,   0,   1,   0, 0, 0,   0,  3, 'A',  'p',
        'I',  2,    'x',  '_',  3, 'o', 'R', 'g', 0, 0, 1,   0,  1, 0xc0, 12,
        0,    1,    0,    1,    0, 0,   0,   60,  0, 4, 198, 18, 0, 1,
    };
    struct world world;

    set_up(&world, "\"api.x_.org\"", false);
    g_assert_cmpint(ask(&world, "ApI.x_.oRg", 1), ==, DNS_ANSWERED);
    g_assert_cmpmem(world.answer.bytes, world.answer.length, expected,
                    sizeof(expected));
    g_assert_cmpstr(world.answer.name, ==, "api.x_.org");
    clear(&world);
}

static void test_kinds_of_names(void)
{
    struct world world;

    set_up(&world, "\"a.example.org\",\"*.x.org\",\"deny:no.x.org\"", false);
    ask(&world, "a.example.org", 1);
    expect(&world, DNS_NOERROR, 1);
    ask(&world, "b.c.x.org", 1);
    expect(&world, DNS_NOERROR, 1);
    for (unsigned type = 2; type < 251; type++) {
        ask(&world, "a.example.org", type);
        expect(&world, DNS_NOERROR, 0);
    }
    ask(&world, "a.example.org", 255);
    expect(&world, DNS_NOERROR, 0);
    ask(&world, "example.org", 1);
    expect(&world, DNS_NOERROR, 0);
    ask(&world, "", 2);
    expect(&world, DNS_NOERROR, 0);
    ask(&world, "example.com", 1);
    expect(&world, DNS_NXDOMAIN, 0);
    ask(&world, "a.a.example.org", 28);
    expect(&world, DNS_NXDOMAIN, 0);
    ask(&world, "no.x.org", 1);
    expect(&world, DNS_NOERROR, 0); /* names below it are listed */
    ask(&world, "a b.x.org", 1);
    expect(&world, DNS_NXDOMAIN, 0);
    clear(&world);
}

static void test_pass_on(void)
{
    struct world world;

    set_up(&world, "\"a.example.org\",\"deny:*.no.org\"", true);
    g_assert_cmpint(ask(&world, "b.org", 1), ==, DNS_PASS_ON);
    g_assert_cmpstr(world.answer.name, ==, "b.org");
    g_assert_cmpint(ask(&world, "example.org", 15), ==, DNS_PASS_ON);
    g_assert_cmpint(ask(&world, "a b.org", 1), ==, DNS_PASS_ON);
    g_assert_cmpint(ask(&world, "", 2), ==, DNS_PASS_ON);
    ask(&world, "a.example.org", 1);
    expect(&world, DNS_NOERROR, 1);
    ask(&world, "a.no.org", 1);
    expect(&world, DNS_NXDOMAIN, 0);
    ask(&world, "b.org", 252);
    expect(&world, DNS_REFUSED, 0);
    clear(&world);
}

static void test_odd_bytes_in_labels(void)
{
    static const uint8_t tail[] = { 0, 0, 1, 0, 1 };
    struct world world;

    set_up(&world, "\"a.example.org\"", false);
    for (unsigned c = 0; c < 256; c++) {
        uint8_t label[] = { 3, 'a', (uint8_t)c, 'b' };

        put_query(&world, "", 1);
        world.length = 12;
        put(&world, label, sizeof(label));
        put(&world, tail, sizeof(tail));
        ask_bytes(&world);
        expect(&world, DNS_NXDOMAIN, 0);
        g_assert_cmpint(strlen(world.answer.name), ==,
                        g_ascii_isalnum(c) || c == '-' || c == '_' ? 3 : 0);
    }
    /* One label with a dot within is not two labels. */
    world.length = 12;
    put(&world,
        "\x0d"
        "a.example.org",
        14);
    put(&world, tail, sizeof(tail));
    ask_bytes(&world);
    expect(&world, DNS_NXDOMAIN, 0);
    clear(&world);
}

static void test_opt(void)
{
    static const uint8_t opt[] = { 0, 0, 41, 4, 0xd0, 0, 0, 0x80, 0, 0,
                                   8, 0, 10, 0, 4,    1, 2, 3,    4 };
    static const uint8_t own[] = { 0, 0, 41, 4, 0xd0, 0, 0, 0x80, 0, 0, 0 };
    struct world world;
    size_t start;

    set_up(&world, "\"a.example.org\"", false);
    put_query(&world, "a.example.org", 1);
    world.query[11] = 1;
    start = world.length;
    put(&world, opt, sizeof(opt));
    g_assert_cmpint(ask_bytes(&world), ==, DNS_ANSWERED);
    g_assert_cmpuint(world.answer.bytes[11], ==, 1);
    g_assert_cmpmem(world.answer.bytes + start + 16,
                    world.answer.length - start - 16, own, sizeof(own));
    world.query[start + 6] = 1; /* the version */
    ask_bytes(&world);
    g_assert_cmpint(world.answer.code, ==, DNS_BADVERS);
    g_assert_cmpuint(world.answer.bytes[3] & 15, ==, 0);
    g_assert_cmpuint(world.answer.bytes[start + 5], ==, 1);
    world.query[start + 6] = 0;
    world.query[start + 14] = 5; /* an option that is too long */
    ask_bytes(&world);
    g_assert_cmpint(world.answer.code, ==, DNS_FORMERR);
    g_assert_cmpuint(world.answer.bytes[11], ==, 0);
    clear(&world);
}

/* ---- malformed queries --------------------------------------------------- */

/* Ask with a change of one byte. */
static void expect_changed(struct world *world, size_t at, uint8_t value,
                           unsigned code)
{
    put_query(world, "a.example.org", 1);
    world->query[at] = value;
    g_test_message("byte %zu: %u", at, value);
    g_assert_cmpint(ask_bytes(world), ==, DNS_ANSWERED);
    g_assert_cmpint(world->answer.code, ==, code);
    g_assert_cmpuint(world->answer.bytes[3] & 15, ==, code);
    g_assert_cmpuint(world->answer.bytes[7], ==, 0);
}

static void test_malformed(void)
{
    struct world world;

    set_up(&world, "\"a.example.org\"", true);
    expect_changed(&world, 2, 0x09, DNS_NOTIMP);  /* IQUERY */
    expect_changed(&world, 2, 0x29, DNS_NOTIMP);  /* UPDATE */
    expect_changed(&world, 2, 0x03, DNS_FORMERR); /* truncated */
    expect_changed(&world, 5, 0, DNS_FORMERR);
    expect_changed(&world, 5, 2, DNS_FORMERR);
    expect_changed(&world, 4, 1, DNS_FORMERR);
    expect_changed(&world, 7, 1, DNS_FORMERR);
    expect_changed(&world, 9, 1, DNS_FORMERR);
    expect_changed(&world, 11, 1, DNS_FORMERR); /* an OPT is missing */
    expect_changed(&world, 11, 2, DNS_FORMERR);
    expect_changed(&world, 12, 0xc0, DNS_FORMERR); /* a pointer */
    expect_changed(&world, 12, 0x41, DNS_FORMERR);
    expect_changed(&world, 12, 0x80, DNS_FORMERR);
    expect_changed(&world, 12, 60, DNS_FORMERR);
    expect_changed(&world, 12, 0, DNS_FORMERR); /* bytes behind */
    expect_changed(&world, 30, 3, DNS_REFUSED); /* class CH */
    expect_changed(&world, 30, 255, DNS_REFUSED);
    expect_changed(&world, 28, 251, DNS_REFUSED); /* IXFR */
    world.query[2] = 0x81;
    g_assert_cmpint(ask_bytes(&world), ==, DNS_NO_ANSWER);
    put_query(&world, "a.example.org", 1);
    put(&world, "", 1);
    ask_bytes(&world);
    g_assert_cmpint(world.answer.code, ==, DNS_FORMERR);
    put_query(&world, "a.example.org", 1);
    while (world.length-- > 0)
        g_assert_cmpint(ask_bytes(&world), ==,
                        world.length < 12 ? DNS_NO_ANSWER : DNS_ANSWERED);
    clear(&world);
}

/* A label of 62 bytes has 63 in a message. */
static void test_longest_names(void)
{
    g_autofree char *label = g_strnfill(62, 'a');
    g_autofree char *fits = g_strdup_printf("%s.%s.%s.%s.x", label, label,
                                            label, label);
    g_autofree char *fitting = g_strdup_printf("%s.%s.%s.%.61s", label, label,
                                               label, label);
    g_autofree char *list = g_strdup_printf("\"*.%s\"", fitting + 63);
    struct world world;

    set_up(&world, list, false);
    g_assert_cmpuint(strlen(fits), ==, NETWORK_NAME_MAX);
    ask(&world, fitting, 1);
    expect(&world, DNS_NOERROR, 1);
    ask(&world, fits, 1);
    expect(&world, DNS_NXDOMAIN, 0);
    g_assert_cmpuint(strlen(world.answer.name), ==, NETWORK_NAME_MAX);
    fits[251] = 'b'; /* no dot: the last label has 64 bytes */
    ask(&world, fits, 1);
    g_assert_cmpint(world.answer.code, ==, DNS_FORMERR);
    g_free(fits);
    fits = g_strdup_printf("%s.%s.%s.%s.xy", label, label, label, label);
    ask(&world, fits, 1);
    g_assert_cmpint(world.answer.code, ==, DNS_FORMERR);
    clear(&world);
}

/* ---- addresses ----------------------------------------------------------- */

static void test_table(void)
{
    struct name_table *table = name_table_new();
    struct network_address address = { 0 };
    uint8_t again[4];

    for (unsigned i = 0; i < NAME_TABLE_MAX; i++) {
        g_autofree char *name = g_strdup_printf("n%u.example.org", i);

        g_assert_null(name_table_find(table, &address));
        g_assert_true(name_table_add(table, name, address.bytes));
        g_assert_true(name_table_covers(&address));
        g_assert_cmpstr(name_table_find(table, &address), ==, name);
        g_assert_cmpuint(address.bytes[3] - 1, <, 254);
        g_assert_true(name_table_add(table, name, again));
        g_assert_cmpmem(again, 4, address.bytes, 4);
        address.bytes[1] = 19;
        g_assert_null(name_table_find(table, &address));
        address.bytes[1] = 18;
        address.bytes[3]++;
    }
    g_assert_false(name_table_add(table, "more.example.org", again));
    g_assert_true(name_table_add(table, "n7.example.org", again));
    address.v6 = true;
    g_assert_false(name_table_covers(&address));
    address.v6 = false;
    address.bytes[1] = 17;
    g_assert_false(name_table_covers(&address));
    name_table_free(table);
}

static void test_full_table(void)
{
    struct world world;
    uint8_t address[4];

    set_up(&world, "\"*.example.org\"", true);
    for (unsigned i = 0; i < NAME_TABLE_MAX; i++) {
        g_autofree char *name = g_strdup_printf("n%u.example.org", i);

        name_table_add(world.table, name, address);
    }
    ask(&world, "new.example.org", 1);
    expect(&world, DNS_SERVFAIL, 0);
    ask(&world, "n5.example.org", 1);
    expect(&world, DNS_NOERROR, 1);
    clear(&world);
}

/* ---- frames -------------------------------------------------------------- */

/* Put the query into a frame from 10.0.2.15:4000 to 10.0.2.3:53. */
static size_t build_frame(const struct world *world, uint8_t *out)
{
    static const uint8_t guest[4] = { 10, 0, 2, 15 },
                         server[4] = { 10, 0, 2, 3 };
    struct udp_frame frame = { guest, server, 4000, 53, 7 };

    memset(out, 2, FRAME_HEADER);
    out[0] = 0x52;
    frame_put16(out + 12, FRAME_IPV4);
    memcpy(out + UDP_FRAME_HEADERS, world->query, world->length);
    return udp_frame_put(&frame, world->length, out);
}

static void check_sums(const struct frame *frame)
{
    const uint8_t *ip = frame->data + FRAME_HEADER;
    uint32_t sum = frame_sum(FRAME_UDP + (uint32_t)frame->payload_length,
                             ip + 12, 8);

    g_assert_cmpuint(frame_fold(frame_sum(0, ip, 20)), ==, 0xffff);
    g_assert_cmpuint(frame_fold(frame_sum(sum, ip + 20, frame->payload_length)),
                     ==, 0xffff);
}

static void test_frames(void)
{
    uint8_t data[FRAME_MAX], reply[DNS_UDP_MAX];
    struct frame frame, parsed;
    struct world world;
    const uint8_t *payload;
    size_t length, payload_length;

    set_up(&world, "\"a.example.org\"", true);
    put_query(&world, "a.example.org", 1);
    g_assert_true(frame_parse(data, build_frame(&world, data), &frame));
    check_sums(&frame);
    g_assert_cmpint(dns_udp_answer(&world.policy, world.table, &frame,
                                   &world.answer, reply, &length),
                    ==, DNS_ANSWERED);
    g_assert_true(frame_parse(reply, length, &parsed));
    check_sums(&parsed);
    g_assert_cmpmem(reply, 6, data + 6, 6);
    g_assert_cmpmem(reply + 6, 6, data, 6);
    g_assert_cmpmem(parsed.source.bytes, 4, frame.target.bytes, 4);
    g_assert_cmpmem(parsed.target.bytes, 4, frame.source.bytes, 4);
    g_assert_cmpuint(parsed.source_port, ==, 53);
    g_assert_cmpuint(parsed.target_port, ==, 4000);
    g_assert_true(udp_frame_get(&parsed, &payload, &payload_length));
    g_assert_cmpmem(payload, payload_length, world.answer.bytes,
                    world.answer.length);
    put_query(&world, "b.org", 1);
    g_assert_true(frame_parse(data, build_frame(&world, data), &frame));
    g_assert_cmpint(dns_udp_answer(&world.policy, world.table, &frame,
                                   &world.answer, reply, &length),
                    ==, DNS_PASS_ON);
    frame_put16(data + 38, 4000); /* the length in the UDP header */
    g_assert_cmpint(dns_udp_answer(&world.policy, world.table, &frame,
                                   &world.answer, reply, &length),
                    ==, DNS_NO_ANSWER);
    frame_put16(data + 38, 7);
    g_assert_cmpint(dns_udp_answer(&world.policy, world.table, &frame,
                                   &world.answer, reply, &length),
                    ==, DNS_NO_ANSWER);
    clear(&world);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns/answer-repeats-the-question", test_answer_bytes);
    g_test_add_func("/dns/only-listed-names-have-addresses",
                    test_kinds_of_names);
    g_test_add_func("/dns/other-names-go-on-with-dns", test_pass_on);
    g_test_add_func("/dns/odd-bytes-are-no-listed-name",
                    test_odd_bytes_in_labels);
    g_test_add_func("/dns/opt-is-answered-with-opt", test_opt);
    g_test_add_func("/dns/malformed-queries-have-errors", test_malformed);
    g_test_add_func("/dns/names-have-at-most-255-bytes", test_longest_names);
    g_test_add_func("/dns/one-address-for-each-name", test_table);
    g_test_add_func("/dns/full-table-fails", test_full_table);
    g_test_add_func("/dns/answer-in-a-frame", test_frames);
    return g_test_run();
}
