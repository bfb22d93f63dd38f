/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_wire_tests - 9P messages as bytes.
 *
 * Ids: P9-01, P9-02 and the decoder's half of P9-03.
 */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "p9/wire/message.h"
#include "tests/p9/p9_tests.h"

enum { ROOM = 4096, ROUNDS = 2000 };

/* Known bytes, laid out by hand from the field lists in wire.h. */
static const struct fixture {
    const char *what;
    const char *hex; /* without the size in front of it */
} fixtures[] = {
    { "Tversion 8192 9P2000.L", "64ffff 00200000 0800 395032303030 2e4c" },
    { "Rversion 65536 unknown", "65ffff 00000100 0700 756e6b6e6f776e" },
    { "Rlerror ENOENT", "070100 02000000" },
    { "Tattach root as 1000",
      "680000 00000000 ffffffff 0400 726f6f74 0100 2f e8030000" },
    { "Rattach of a folder", "690000 80 78563412 0807060504030201" },
    { "Twalk a/bc", "6e0200 01000000 02000000 0200 0100 61 0200 6263" },
    { "Rwalk of two",
      "6f0200 0200 80 01000000 0200000000000000 00 03000000 0400000000000000" },
    { "Twalk of none", "6e0200 01000000 02000000 0000" },
    { "Tlopen", "0c0300 05000000 02000000" },
    { "Rlopen", "0d0300 00 01000000 0200000000000000 e81f0000" },
    { "Tlcreate f", "0e0300 05000000 0100 66 42800000 a4010000 64000000" },
    { "Tread", "740400 05000000 0010000000000000 00040000" },
    { "Rread abc", "750400 03000000 616263" },
    { "Twrite ab", "760400 05000000 0100000000000000 02000000 6162" },
    { "Rwrite", "770400 02000000" },
    { "Tgetattr", "180500 05000000 ff07000000000000" },
    { "Tsetattr of a size",
      "1a0500 05000000 08000000 00000000 00000000 00000000 "
      "0004000000000000 0000000000000000 0000000000000000 0000000000000000 "
      "0000000000000000" },
    { "Treaddir", "280600 05000000 0000000000000000 00100000" },
    { "Tlock", "340700 05000000 01 01000000 0000000000000000 "
               "0a00000000000000 39300000 0100 68" },
    { "Rlock blocked", "350700 01" },
    { "Tflush", "6c0800 0700" },
    { "Rflush", "6d0800" },
    { "Tclunk", "780900 05000000" },
    { "Tunlinkat", "4c0900 05000000 0100 78 00020000" },
    { "Trenameat", "4a0900 05000000 0100 78 06000000 0100 79" },
    { "Txattrcreate",
      "200900 05000000 0600 757365722e61 0300000000000000 01000000" },
    { "Tfsync", "320900 05000000 01000000" },
};

static size_t from_hex(const char *hex, uint8_t *bytes)
{
    size_t size = 4;

    for (; *hex; hex++) {
        if (*hex == ' ')
            continue;
        g_assert_true(g_ascii_isxdigit(hex[0]) && g_ascii_isxdigit(hex[1]));
        bytes[size++] = (uint8_t)(g_ascii_xdigit_value(hex[0]) << 4 |
                                  g_ascii_xdigit_value(hex[1]));
        hex++;
    }
    bytes[0] = (uint8_t)size;
    bytes[1] = (uint8_t)(size >> 8);
    bytes[2] = bytes[3] = 0;
    return size;
}

static void assert_round_trip(const uint8_t *bytes, size_t size)
{
    struct p9_message message;
    uint8_t again[ROOM];

    g_assert_cmpint(p9_message_decode(bytes, size, &message), ==, 0);
    g_assert_cmpint(p9_message_encode(&message, again, sizeof(again)), ==,
                    (int)size);
    g_assert_cmpmem(bytes, size, again, size);
}

/* P9-02: known bytes are decoded and encoded unchanged. */
static void test_fixtures(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(fixtures); i++) {
        uint8_t bytes[ROOM];
        size_t size = from_hex(fixtures[i].hex, bytes);

        g_test_message("%s", fixtures[i].what);
        assert_round_trip(bytes, size);
    }
}

/* And their fields have the right values. */
static void test_fixture_fields(void)
{
    struct p9_message m;
    uint8_t bytes[ROOM];
    size_t size = from_hex(fixtures[5].hex, bytes);

    g_assert_cmpint(p9_message_decode(bytes, size, &m), ==, 0);
    g_assert_cmpuint(m.type, ==, P9_TWALK);
    g_assert_cmpuint(m.tag, ==, 2);
    g_assert_cmpuint(m.walk.fid, ==, 1);
    g_assert_cmpuint(m.walk.newfid, ==, 2);
    g_assert_cmpuint(m.walk.n, ==, 2);
    g_assert_cmpmem(m.walk.names[1].at, m.walk.names[1].len, "bc", 2);
    size = from_hex(fixtures[4].hex, bytes);
    g_assert_cmpint(p9_message_decode(bytes, size, &m), ==, 0);
    g_assert_cmpuint(m.qid.type, ==, P9_QID_DIR);
    g_assert_cmphex(m.qid.version, ==, 0x12345678);
    g_assert_cmphex(m.qid.path, ==, 0x0102030405060708);
    size = from_hex(fixtures[18].hex, bytes);
    g_assert_cmpint(p9_message_decode(bytes, size, &m), ==, 0);
    g_assert_cmpuint(m.lock.type, ==, P9_LOCK_WRITE);
    g_assert_cmpuint(m.lock.length, ==, 10);
    g_assert_cmpuint(m.lock.proc_id, ==, 12345);
}

/* ---- every type, with random fields -------------------------------------- */

/* Make a message of that type with a body of these bytes, if possible: the body
 * grows until the decoder accepts it. Short counts are made likely. */
static size_t random_message(GRand *rand, uint8_t type, uint8_t bytes[ROOM])
{
    struct p9_message m;
    size_t body = (size_t)g_rand_int_range(rand, 0, 400);

    for (size_t i = 4; i < P9_HEADER_SIZE + body; i++)
        bytes[i] = g_rand_boolean(rand) ? 0 : (uint8_t)g_rand_int(rand);
    bytes[4] = type;
    for (size_t size = P9_HEADER_SIZE; size <= P9_HEADER_SIZE + body; size++) {
        bytes[0] = (uint8_t)size;
        bytes[1] = (uint8_t)(size >> 8);
        bytes[2] = bytes[3] = 0;
        if (p9_message_decode(bytes, size, &m) == 0)
            return size;
    }
    return 0;
}

/* P9-01: for each type, decoding and encoding returns the same bytes. */
static void test_round_trip(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(9);
    unsigned types = 0;

    for (unsigned type = 0; type < 256; type++) {
        uint8_t bytes[ROOM];
        unsigned found = 0;

        if (!p9_message_name((uint8_t)type))
            continue;
        types++;
        for (unsigned i = 0; i < ROUNDS; i++) {
            size_t size = random_message(rand, (uint8_t)type, bytes);

            if (size == 0)
                continue;
            found++;
            /* An optional field that is left out is 0, and written. */
            if (type != P9_TFSYNC || size > P9_HEADER_SIZE + 4)
                assert_round_trip(bytes, size);
        }
        g_test_message("%s: %u", p9_message_name((uint8_t)type), found);
        g_assert_cmpuint(found, >, 10);
    }
    g_assert_cmpuint(types, ==, 57); /* 28 requests and replies, Rlerror */
}

/* ---- what is no message -------------------------------------------------- */

/* P9-03: a message that is cut anywhere, or has a byte too many, is refused; so
 * is a list that is too long. */
static void test_malformed(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(fixtures); i++) {
        uint8_t bytes[ROOM];
        size_t size = from_hex(fixtures[i].hex, bytes);
        struct p9_message m;

        for (size_t cut = 0; cut < size; cut++) {
            g_autofree uint8_t *exact = g_memdup2(bytes, cut);
            bool optional = bytes[4] == P9_TFSYNC && cut == size - 4;

            if (cut > 0)
                exact[0] = (uint8_t)cut;
            g_assert_cmpint(p9_message_decode(exact, cut, &m), ==,
                            optional ? 0 : -EINVAL);
        }
        bytes[size] = 0;
        g_assert_cmpint(p9_message_decode(bytes, size + 1, &m), ==, -EINVAL);
        bytes[0]++;
        g_assert_cmpint(p9_message_decode(bytes, size + 1, &m), ==, -EINVAL);
    }
}

static void test_long_list(void)
{
    struct p9_message m = { .type = P9_TWALK };
    uint8_t bytes[ROOM];
    int size;

    m.walk.n = P9_MAX_WALK;
    for (int i = 0; i < P9_MAX_WALK; i++)
        m.walk.names[i] = p9_string("n");
    size = p9_message_encode(&m, bytes, sizeof(bytes));
    g_assert_cmpint(p9_message_decode(bytes, (size_t)size, &m), ==, 0);
    memcpy(bytes + size, "\1\0n", 3);
    bytes[0] = (uint8_t)(size + 3);
    bytes[15] = P9_MAX_WALK + 1;
    g_assert_cmpint(p9_message_decode(bytes, (size_t)size + 3, &m), ==,
                    -EINVAL);
}

static void test_unknown_type(void)
{
    static const uint8_t types[] = { 0, 6, 106, 98, 99, 125, 255 };
    uint8_t bytes[P9_HEADER_SIZE] = { P9_HEADER_SIZE };
    struct p9_message m;

    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        bytes[4] = types[i];
        g_assert_cmpint(p9_message_decode(bytes, sizeof(bytes), &m), ==,
                        -EOPNOTSUPP);
    }
}

/* Nothing is written beyond the buffer. */
static void test_encode_room(void)
{
    struct p9_message m = { .type = P9_RREADLINK };
    uint8_t bytes[64];

    m.target = p9_string("0123456789");
    for (size_t room = 0; room < 19; room++) {
        memset(bytes, 0xee, sizeof(bytes));
        g_assert_cmpint(p9_message_encode(&m, bytes, room), ==, -EMSGSIZE);
        g_assert_cmphex(bytes[room], ==, 0xee);
    }
    g_assert_cmpint(p9_message_encode(&m, bytes, 19), ==, 19);
}

void add_p9_wire_tests(void)
{
    g_test_add_func("/p9-wire/P9-01/round-trip", test_round_trip);
    g_test_add_func("/p9-wire/P9-02/fixtures", test_fixtures);
    g_test_add_func("/p9-wire/P9-02/fields", test_fixture_fields);
    g_test_add_func("/p9-wire/P9-03/malformed", test_malformed);
    g_test_add_func("/p9-wire/P9-03/long-list", test_long_list);
    g_test_add_func("/p9-wire/P9-03/unknown-type", test_unknown_type);
    g_test_add_func("/p9-wire/encode-room", test_encode_room);
}
