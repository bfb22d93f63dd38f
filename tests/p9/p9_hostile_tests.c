/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_hostile_tests - malicious clients.
 *
 * In each case the daemon survives, its memory stays within the bounds stated
 * here, and another client is served.
 *
 * Ids: P9-05, DOS-03, DOS-04.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/p9_client.h"
#include "tests/p9/p9_tests.h"

#define OK(call) g_assert_cmpint(call, ==, 0)

enum {
    MIB = 1 << 20,
    FIDS = 65536,
    FID_BYTES = 512, /* limit of the memory for one */
    TAGS = 1000,
    SESSIONS = 300,
    CONNECTIONS = 64,
};

struct fixture {
    struct p9_rig *rig;
    struct p9_client *client, *other;
    size_t memory; /* before the test */
};

static void set_up(struct fixture *f, gconstpointer data)
{
    f->rig = p9_rig_new();
    p9_rig_start(f->rig, NULL);
    f->client = p9_client_connect(f->rig->socket, P9_MAX_MSIZE, 0);
    f->other = p9_client_connect(f->rig->socket, 65536, 0);
    f->memory = p9_rig_memory(f->rig);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    p9_client_free(f->other);
    p9_client_free(f->client);
    p9_rig_free(f->rig);
}

static void assert_grown_less(struct fixture *f, size_t most)
{
    size_t now = p9_rig_memory(f->rig);

    g_test_message("memory: %zu KiB, before %zu KiB", now >> 10,
                   f->memory >> 10);
    g_assert_cmpuint(now, <, f->memory + most);
}

static void assert_served(struct fixture *f)
{
    struct stat st;

    OK(p9_stat(f->other, P9_ROOT, &st));
    OK(p9_mkdir(f->other, P9_ROOT, "served", 0755));
    OK(p9_unlinkat(f->other, P9_ROOT, "served", P9_AT_REMOVEDIR));
}

/* The server hangs up, perhaps after an error. */
static void assert_hung_up(struct p9_client *client, uint32_t error)
{
    struct p9_message reply;

    while (p9_client_receive(client, &reply)) {
        g_assert_cmpuint(reply.type, ==, P9_RLERROR);
        g_assert_cmpuint(reply.ecode, ==, error);
    }
}

/* ---- sizes --------------------------------------------------------------- */

/* P9-05, DOS-04: nothing is allocated for a size over the limit. */
static void test_giant_size(struct fixture *f, gconstpointer data)
{
    static const uint32_t sizes[] = { 1u << 30, 2u << 30, UINT32_MAX,
                                      P9_MAX_MSIZE + 1, P9_MAX_MSIZE * 2u };

    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        struct p9_client *client = p9_client_connect(f->rig->socket,
                                                     P9_MAX_MSIZE, 0);
        uint32_t size = GUINT32_TO_LE(sizes[i]);
        uint8_t bytes[100] = { 0 };

        memcpy(bytes, &size, 4);
        bytes[4] = P9_TWRITE;
        p9_client_send_bytes(client, bytes, sizeof(bytes));
        assert_hung_up(client, EMSGSIZE);
        p9_client_free(client);
    }
    assert_grown_less(f, 2 * MIB);
    assert_served(f);
}

/* A size over the negotiated one is too large as well; and so is any before the
 * negotiation. */
static void test_over_msize(struct fixture *f, gconstpointer data)
{
    struct p9_client *client = p9_client_connect(f->rig->socket, 4096, 0);
    uint8_t bytes[4097] = { 0x01, 0x10, 0, 0, P9_TWRITE };

    p9_client_send_bytes(client, bytes, sizeof(bytes));
    assert_hung_up(client, EMSGSIZE);
    p9_client_free(client);
    client = p9_client_open(f->rig->socket);
    bytes[1] = 0x40;
    p9_client_send_bytes(client, bytes, sizeof(bytes));
    assert_hung_up(client, EMSGSIZE);
    p9_client_free(client);
    assert_served(f);
}

static void test_tiny_size(struct fixture *f, gconstpointer data)
{
    for (uint8_t size = 0; size < P9_HEADER_SIZE; size++) {
        struct p9_client *client = p9_client_connect(f->rig->socket, 8192, 0);
        uint8_t bytes[P9_HEADER_SIZE] = { size, 0, 0, 0, P9_TCLUNK };

        p9_client_send_bytes(client, bytes, sizeof(bytes));
        assert_hung_up(client, EMSGSIZE);
        p9_client_free(client);
    }
    assert_served(f);
}

/* A valid size, and then silence: the memory is reserved, not used. */
static void test_stalled_messages(struct fixture *f, gconstpointer data)
{
    struct p9_client *clients[32];
    uint32_t size = GUINT32_TO_LE(P9_MAX_MSIZE);
    uint8_t bytes[64] = { 0 };

    memcpy(bytes, &size, 4);
    bytes[4] = P9_TWRITE;
    for (size_t i = 0; i < G_N_ELEMENTS(clients); i++) {
        clients[i] = p9_client_connect(f->rig->socket, P9_MAX_MSIZE, 0);
        p9_client_send_bytes(clients[i], bytes, sizeof(bytes));
    }
    assert_served(f);
    assert_grown_less(f, 32 * MIB);
    for (size_t i = 0; i < G_N_ELEMENTS(clients); i++)
        p9_client_free(clients[i]);
    assert_served(f);
}

/* ---- numbers ------------------------------------------------------------- */

static void send_walk(struct p9_client *client, uint32_t fid, const char *name)
{
    struct p9_message m = { .type = P9_TWALK };

    m.tag = (uint16_t)(fid % 60000);
    m.walk.fid = P9_ROOT;
    m.walk.newfid = fid;
    m.walk.n = name ? 1 : 0;
    m.walk.names[0] = p9_string(name ? name : "");
    p9_client_send(client, &m);
}

static void test_many_fids(struct fixture *f, gconstpointer data)
{
    struct p9_message reply;
    struct stat st;

    OK(p9_mkdir(f->client, P9_ROOT, "dir", 0755));
    for (uint32_t fid = 1; fid <= FIDS; fid += 64) {
        for (uint32_t i = 0; i < 64; i++)
            send_walk(f->client, fid + i, "dir");
        for (uint32_t i = 0; i < 64; i++) {
            g_assert_true(p9_client_receive(f->client, &reply));
            g_assert_cmpuint(reply.type, ==, P9_RWALK);
        }
    }
    OK(p9_stat(f->client, FIDS, &st));
    assert_grown_less(f, (size_t)FIDS * FID_BYTES);
    assert_served(f);
    /* All of them end with the session. */
    OK(p9_version(f->client, 8192, P9_VERSION, NULL, NULL));
    g_assert_cmpint(p9_stat(f->client, FIDS, &st), ==, -EBADF);
}

/* DOS-03: a thousand reads in flight, and the replies are read only after all
 * are sent. */
static void test_many_tags(struct fixture *f, gconstpointer data)
{
    g_autofree uint8_t *bytes = g_malloc0(MIB);
    struct p9_message m = { .type = P9_TREAD }, reply;
    bool answered[TAGS] = { false };
    uint32_t fid;

    OK(p9_walk(f->client, P9_ROOT, "", &fid));
    OK(p9_lcreate(f->client, fid, "file", O_RDWR, 0644));
    g_assert_cmpint(p9_write(f->client, fid, bytes, MIB, 0), ==, MIB);
    m.read.fid = fid;
    m.read.offset = 0;
    m.read.count = 65536;
    for (uint16_t tag = 0; tag < TAGS; tag++) {
        m.tag = tag;
        p9_client_send(f->client, &m);
    }
    assert_served(f);
    /* Two messages of 4 MiB and 1 MiB, and a buffer for the next. */
    assert_grown_less(f, 20 * MIB);
    for (unsigned n = 0; n < TAGS; n++) {
        g_assert_true(p9_client_receive(f->client, &reply));
        g_assert_cmpuint(reply.type, ==, P9_RREAD);
        g_assert_cmpuint(reply.data.count, ==, 65536);
        g_assert_false(answered[reply.tag]);
        answered[reply.tag] = true;
    }
}

/* A client that sends and never reads waits; others do not. */
static void test_never_reads(struct fixture *f, gconstpointer data)
{
    g_autofree uint8_t *bytes = g_malloc0(2 * MIB);
    struct p9_message m = { .type = P9_TREAD };
    int size, sent = 0;
    uint32_t fid;

    OK(p9_walk(f->client, P9_ROOT, "", &fid));
    OK(p9_lcreate(f->client, fid, "file", O_RDWR, 0644));
    g_assert_cmpint(p9_write(f->client, fid, bytes, 2 * MIB, 0), ==, 2 * MIB);
    m.read.fid = fid;
    m.read.offset = 0;
    m.read.count = 2 * MIB;
    size = p9_message_encode(&m, f->client->out, f->client->room);
    /* Until its own socket is full. */
    for (int tries = 0; tries < 50;) {
        ssize_t n = send(f->client->fd, f->client->out, (size_t)size,
                         MSG_DONTWAIT);

        if (n == size) {
            uint16_t tag = (uint16_t)++sent;

            memcpy(f->client->out + 5, &tag, 2);
        } else {
            g_assert_cmpint(n, <, 0);
            tries++;
            g_usleep(2000);
        }
    }
    g_test_message("%d requests were sent", sent);
    g_assert_cmpint(sent, >, 100);
    assert_grown_less(f, 24 * MIB);
    for (int i = 0; i < 20; i++)
        assert_served(f);
}

/* The daemon buffers values of attributes for a client, up to a bound. */
static void test_many_attributes(struct fixture *f, gconstpointer data)
{
    struct p9_message m = { .type = P9_TXATTRCREATE };
    int r = 0;

    for (uint32_t fid = 1; r == 0 && fid < 10000; fid++) {
        uint32_t own;

        OK(p9_walk(f->client, P9_ROOT, "", &own));
        m.xattrcreate.fid = own;
        m.xattrcreate.name = p9_string("user.a");
        m.xattrcreate.size = 65536;
        m.xattrcreate.flags = 0;
        r = p9_client_call(f->client, &m, NULL);
    }
    g_assert_cmpint(r, ==, -ENOMEM);
    assert_grown_less(f, 12 * MIB);
    assert_served(f);
}

static void test_many_connections(struct fixture *f, gconstpointer data)
{
    struct p9_client *clients[CONNECTIONS];
    unsigned served = 0;

    for (size_t i = 0; i < CONNECTIONS; i++)
        clients[i] = p9_client_open(f->rig->socket);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct p9_message m = { .type = P9_TVERSION, .tag = P9_NO_TAG }, reply;

        m.version.msize = 8192;
        m.version.version = p9_string(P9_VERSION);
        /* The server hangs up on the last two, perhaps before they have sent.
         */
        if (i < CONNECTIONS - 2) {
            p9_client_send(clients[i], &m);
            served += p9_client_receive(clients[i], &reply);
        } else {
            g_assert_false(p9_client_receive(clients[i], &reply));
        }
    }
    g_assert_cmpuint(served, ==, CONNECTIONS - 2);
    assert_served(f);
    for (size_t i = 0; i < CONNECTIONS; i++)
        p9_client_free(clients[i]);
}

/* ---- nonsense ------------------------------------------------------------ */

static void test_tag_twice(struct fixture *f, gconstpointer data)
{
    struct p9_message m;
    uint32_t fid, theirs;

    OK(p9_walk(f->client, P9_ROOT, "", &fid));
    OK(p9_lcreate(f->client, fid, "file", O_RDWR, 0644));
    OK(p9_walk(f->other, P9_ROOT, "file", &theirs));
    OK(p9_lopen(f->other, theirs, O_RDWR));
    m = p9_lock_message(theirs, P9_LOCK_WRITE, 0, 0, 0, 1);
    OK(p9_client_call(f->other, &m, NULL));
    m = p9_lock_message(fid, P9_LOCK_WRITE, P9_LOCK_WAIT, 0, 0, 1);
    m.tag = 5;
    p9_client_send(f->client, &m);
    g_assert_false(p9_client_is_readable(f->client, 50));
    p9_client_send(f->client, &m);
    assert_hung_up(f->client, 0);
    assert_served(f);
}

/* Replies, unknown types, and requests of an older dialect. */
static void test_wrong_types(struct fixture *f, gconstpointer data)
{
    for (unsigned type = 0; type < 256; type++) {
        uint8_t bytes[P9_HEADER_SIZE] = { P9_HEADER_SIZE, 0, 0, 0,
                                          (uint8_t)type,  1 };
        struct p9_message reply;

        if (p9_message_name((uint8_t)type) && type % 2 == 0)
            continue;
        p9_client_send_bytes(f->client, bytes, sizeof(bytes));
        g_assert_true(p9_client_receive(f->client, &reply));
        g_assert_cmpuint(reply.type, ==, P9_RLERROR);
        g_assert_true(reply.ecode == EOPNOTSUPP || reply.ecode == EINVAL);
    }
    assert_served(f);
}

/* Random bodies in whole messages, then random bytes. */
static void send_nonsense(struct p9_client *client, GRand *rand)
{
    uint8_t bytes[256];

    for (int i = 0; i < 50; i++) {
        uint8_t size = (uint8_t)g_rand_int_range(rand, P9_HEADER_SIZE, 120);

        for (size_t at = 0; at < size; at++)
            bytes[at] = g_rand_int_range(rand, 0, 3)
                            ? (uint8_t)0
                            : (uint8_t)g_rand_int(rand);
        memcpy(bytes, (uint8_t[]){ size, 0, 0, 0 }, 4);
        bytes[4] = (uint8_t)(g_rand_int_range(rand, 4, 62) * 2);
        bytes[5] = (uint8_t)i;
        if (send(client->fd, bytes, size, MSG_NOSIGNAL) < 0)
            return;
    }
    for (size_t at = 0; at < sizeof(bytes); at++)
        bytes[at] = (uint8_t)g_rand_int(rand);
    send(client->fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
}

static void test_nonsense(struct fixture *f, gconstpointer data)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);

    for (int i = 0; i < SESSIONS; i++) {
        struct p9_client *client = p9_client_connect(f->rig->socket, 8192, 0);

        send_nonsense(client, rand);
        p9_client_free(client);
    }
    assert_served(f);
    assert_grown_less(f, 16 * MIB);
}

#define ADD(name, function)                                                    \
    g_test_add("/p9-hostile/" name, struct fixture, NULL, set_up, function,    \
               tear_down)

void add_p9_hostile_tests(void)
{
    ADD("P9-05/DOS-04/giant-size", test_giant_size);
    ADD("P9-05/over-msize", test_over_msize);
    ADD("tiny-size", test_tiny_size);
    ADD("stalled-messages", test_stalled_messages);
    ADD("many-fids", test_many_fids);
    ADD("DOS-03/many-tags", test_many_tags);
    ADD("DOS-03/never-reads", test_never_reads);
    ADD("many-attributes", test_many_attributes);
    ADD("many-connections", test_many_connections);
    ADD("tag-twice", test_tag_twice);
    ADD("wrong-types", test_wrong_types);
    ADD("nonsense", test_nonsense);
}
