/* SPDX-License-Identifier: Apache-2.0
 *
 * p9-flow-test - many requests at a time: order, flush, waiting.
 *
 * Ids: P9-04.
 */
#include <errno.h>

#include "tests/p9/p9_flow.h"
#include "tests/p9/p9_tests.h"

enum { MANY = 400, BIG = 1 << 20 };

/* ---- order --------------------------------------------------------------- */

static struct p9_message read_message(uint32_t fid, uint64_t offset,
                                      uint32_t count)
{
    struct p9_message m = { .type = P9_TREAD };

    m.read.fid = fid;
    m.read.offset = offset;
    m.read.count = count;
    return m;
}

/* P9-04: each request gets one reply, by its tag, with the requested result. */
static void test_pipelined(struct fixture *f, gconstpointer data)
{
    g_autofree uint8_t *bytes = g_malloc(BIG);
    g_autofree bool *answered = g_new0(bool, MANY);
    uint32_t fid = p9_flow_new_file(f->client, "file");

    for (size_t i = 0; i < BIG; i++)
        bytes[i] = (uint8_t)(i >> 8 ^ i);
    g_assert_cmpint(p9_write(f->client, fid, bytes, BIG, 0), ==, BIG);
    for (uint16_t i = 0; i < MANY; i++) {
        if (i % 4 == 0)
            p9_flow_send(f->client,
                         read_message(fid, i * 1000u, i % 16 ? 512 : 100000),
                         i);
        else
            p9_flow_getattr(f->client, i);
    }
    for (unsigned n = 0; n < MANY; n++) {
        struct p9_message reply;

        g_assert_true(p9_client_receive(f->client, &reply));
        g_assert_cmpuint(reply.tag, <, MANY);
        g_assert_false(answered[reply.tag]);
        answered[reply.tag] = true;
        g_assert_cmpuint(reply.type, ==,
                         reply.tag % 4 ? P9_RGETATTR : P9_RREAD);
        if (reply.type == P9_RREAD)
            g_assert_cmpmem(reply.data.at, reply.data.count,
                            bytes + reply.tag * 1000u,
                            reply.tag % 16 ? 512 : 100000);
    }
    g_assert_false(p9_client_is_readable(f->client, 0));
}

/* More than may run at a time, repeatedly: requests that were received but not
 * handled are not forgotten when the others are done. */
static void test_pipelined_large(struct fixture *f, gconstpointer data)
{
    g_autofree uint8_t *bytes = g_malloc0(BIG);
    uint32_t fid = p9_flow_new_file(f->client, "file");

    g_assert_cmpint(p9_write(f->client, fid, bytes, BIG, 0), ==, BIG);
    for (int round = 0; round < 100; round++) {
        struct p9_message reply;

        for (uint16_t i = 0; i < 16; i++)
            p9_flow_send(f->client, read_message(fid, 0, 500000), i);
        for (int i = 0; i < 16; i++) {
            g_assert_true(p9_client_receive(f->client, &reply));
            g_assert_cmpuint(reply.type, ==, P9_RREAD);
            g_assert_cmpuint(reply.data.count, ==, 500000);
        }
    }
}

/* P9-04: other requests overtake one that waits. */
static void test_out_of_order(struct fixture *f, gconstpointer data)
{
    uint32_t fid = p9_flow_new_file(f->client, "file");
    uint32_t theirs = p9_flow_open_file(f->other, "file");
    struct p9_message lock = p9_lock_message(fid, P9_LOCK_WRITE, P9_LOCK_WAIT,
                                             0, 0, 1);
    struct p9_message first = p9_lock_message(theirs, P9_LOCK_WRITE, 0, 0, 10,
                                              1);
    struct p9_message reply;

    OK(p9_client_call(f->other, &first, &reply));
    g_assert_cmpuint(reply.status, ==, P9_LOCK_SUCCESS);
    p9_flow_send(f->client, lock, 7);
    for (uint16_t tag = 8; tag < 40; tag++)
        p9_flow_getattr(f->client, tag);
    for (uint16_t tag = 8; tag < 40; tag++)
        p9_flow_expect(f->client, P9_RGETATTR, tag, &reply);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    OK(p9_clunk(f->other, theirs)); /* releases the lock */
    p9_flow_expect(f->client, P9_RLOCK, 7, &reply);
    g_assert_cmpuint(reply.status, ==, P9_LOCK_SUCCESS);
}

/* ---- locks --------------------------------------------------------------- */

static void test_locks(struct fixture *f, gconstpointer data)
{
    uint32_t fid = p9_flow_new_file(f->client, "file");
    uint32_t theirs = p9_flow_open_file(f->other, "file");
    struct p9_message test = p9_lock_message(theirs, P9_LOCK_WRITE, 0, 0, 0, 1);
    struct p9_message reply;

    g_assert_cmpuint(p9_flow_lock(f->client, p9_lock_message(fid, P9_LOCK_WRITE,
                                                             0, 10, 10, 1)),
                     ==, P9_LOCK_SUCCESS);
    /* A process does not conflict with itself, but with another one. */
    g_assert_cmpuint(p9_flow_lock(f->client, p9_lock_message(fid, P9_LOCK_READ,
                                                             0, 10, 1, 1)),
                     ==, P9_LOCK_SUCCESS);
    g_assert_cmpuint(p9_flow_lock(f->client, p9_lock_message(fid, P9_LOCK_WRITE,
                                                             0, 15, 1, 2)),
                     ==, P9_LOCK_BLOCKED);
    g_assert_cmpuint(
        p9_flow_lock(f->other,
                     p9_lock_message(theirs, P9_LOCK_READ, 0, 11, 1, 1)),
        ==, P9_LOCK_BLOCKED);
    g_assert_cmpuint(
        p9_flow_lock(f->other,
                     p9_lock_message(theirs, P9_LOCK_WRITE, 0, 20, 0, 1)),
        ==, P9_LOCK_SUCCESS);
    test.type = P9_TGETLOCK;
    OK(p9_client_call(f->other, &test, &reply));
    g_assert_cmpuint(reply.lock.type, ==, P9_LOCK_READ);
    g_assert_cmpuint(reply.lock.start, ==, 10);
    g_assert_cmpuint(reply.lock.length, ==, 1);
    g_assert_cmpuint(
        p9_flow_lock(f->client,
                     p9_lock_message(fid, P9_LOCK_UNLOCK, 0, 0, 0, 1)),
        ==, P9_LOCK_SUCCESS);
    OK(p9_client_call(f->other, &test, &reply));
    g_assert_cmpuint(reply.lock.type, ==, P9_LOCK_UNLOCK);
}

static void test_lock_errors(struct fixture *f, gconstpointer data)
{
    uint32_t fid = p9_flow_new_file(f->client, "file"), path;
    struct p9_message m = p9_lock_message(fid, 3, 0, 0, 0, 1);

    g_assert_cmpint(p9_client_call(f->client, &m, NULL), ==, -EINVAL);
    m = p9_lock_message(fid, P9_LOCK_READ, 4, 0, 0, 1);
    g_assert_cmpint(p9_client_call(f->client, &m, NULL), ==, -EINVAL);
    m = p9_lock_message(fid, P9_LOCK_READ, 0, UINT64_MAX, 1, 1);
    g_assert_cmpint(p9_client_call(f->client, &m, NULL), ==, -EINVAL);
    OK(p9_walk(f->client, P9_ROOT, "file", &path));
    m = p9_lock_message(path, P9_LOCK_READ, 0, 0, 1, 1);
    g_assert_cmpint(p9_client_call(f->client, &m, NULL), ==, -EBADF);
}

/* A client that hangs up holds no lock, and waits for none. */
static void test_lock_hang_up(struct fixture *f, gconstpointer data)
{
    uint32_t fid = p9_flow_new_file(f->client, "file");
    uint32_t theirs = p9_flow_open_file(f->other, "file");
    struct p9_client *third = p9_client_connect(f->rig->socket, 8192, 0);
    uint32_t its = p9_flow_open_file(third, "file");

    p9_flow_lock(f->other, p9_lock_message(theirs, P9_LOCK_WRITE, 0, 0, 0, 1));
    p9_flow_send(third,
                 p9_lock_message(its, P9_LOCK_WRITE, P9_LOCK_WAIT, 0, 0, 1), 1);
    g_assert_false(p9_client_is_readable(third, NEVER_MS));
    p9_client_free(third);
    g_clear_pointer(&f->other, p9_client_free);
    for (int i = 0;
         p9_flow_lock(f->client, p9_lock_message(fid, P9_LOCK_WRITE, 0, 0, 0,
                                                 1)) != P9_LOCK_SUCCESS;
         i++) {
        g_assert_cmpint(i, <, 1000);
        g_usleep(10000);
    }
}

/* ---- flushing ------------------------------------------------------------ */

/* A waiting lock: only the Rflush is sent, and the lock is not taken. */
static void test_flush_waiting(struct fixture *f, gconstpointer data)
{
    uint32_t fid = p9_flow_new_file(f->client, "file");
    uint32_t theirs = p9_flow_open_file(f->other, "file");
    struct p9_message reply;

    p9_flow_lock(f->other, p9_lock_message(theirs, P9_LOCK_WRITE, 0, 0, 0, 1));
    p9_flow_send(f->client,
                 p9_lock_message(fid, P9_LOCK_WRITE, P9_LOCK_WAIT, 0, 0, 1), 1);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    p9_flow_flush(f->client, 1, 2);
    p9_flow_expect(f->client, P9_RFLUSH, 2, &reply);
    OK(p9_clunk(f->other, theirs));
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    theirs = p9_flow_open_file(f->other, "file");
    g_assert_cmpuint(
        p9_flow_lock(f->other,
                     p9_lock_message(theirs, P9_LOCK_WRITE, 0, 0, 0, 1)),
        ==, P9_LOCK_SUCCESS);
}

/* Flush an unknown request, a flush, and one request twice. */
static void test_flush_odd(struct fixture *f, gconstpointer data)
{
    uint32_t fid = p9_flow_new_file(f->client, "file");
    uint32_t theirs = p9_flow_open_file(f->other, "file");
    struct p9_message reply;

    p9_flow_flush(f->client, 999, 2);
    p9_flow_expect(f->client, P9_RFLUSH, 2, &reply);
    p9_flow_flush(f->client, 3, 3); /* itself */
    p9_flow_expect(f->client, P9_RFLUSH, 3, &reply);
    p9_flow_getattr(f->client, 4);
    p9_flow_expect(f->client, P9_RGETATTR, 4, &reply);
    p9_flow_flush(f->client, 4, 5);
    p9_flow_expect(f->client, P9_RFLUSH, 5, &reply);
    p9_flow_lock(f->other, p9_lock_message(theirs, P9_LOCK_WRITE, 0, 0, 0, 1));
    p9_flow_send(f->client,
                 p9_lock_message(fid, P9_LOCK_WRITE, P9_LOCK_WAIT, 0, 0, 1), 6);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    p9_flow_flush(f->client, 6, 7);
    p9_flow_flush(f->client, 6, 8);
    p9_flow_flush(f->client, 7, 9);
    /* Later flushes may find the request done. */
    for (uint16_t tag = 7; tag <= 9; tag++)
        p9_flow_expect(f->client, P9_RFLUSH, tag, &reply);
}

/* A reply never follows its Rflush, however the two race. */
static void test_flush_race(struct fixture *f, gconstpointer data)
{
    g_autofree uint8_t *bytes = g_malloc0(BIG);
    uint32_t fid = p9_flow_new_file(f->client, "file");

    g_assert_cmpint(p9_write(f->client, fid, bytes, BIG, 0), ==, BIG);
    for (int round = 0; round < 200; round++) {
        bool flushed[8] = { false };
        unsigned flushes = 0;

        for (uint16_t i = 0; i < 8; i++)
            p9_flow_send(f->client, read_message(fid, 0, 200000), i);
        for (uint16_t i = 0; i < 8; i++)
            p9_flow_flush(f->client, i, (uint16_t)(100 + i));
        while (flushes < 8) {
            struct p9_message reply;

            g_assert_true(p9_client_receive(f->client, &reply));
            if (reply.type == P9_RFLUSH) {
                flushed[reply.tag - 100] = true;
                flushes++;
            } else {
                g_assert_cmpuint(reply.type, ==, P9_RREAD);
                g_assert_false(flushed[reply.tag]);
            }
        }
        g_assert_false(p9_client_is_readable(f->client, 0));
    }
}

/* ---- fids ---------------------------------------------------------------- */

/* Clunk a fid while it is in use. */
static void test_concurrent_clunk(struct fixture *f, gconstpointer data)
{
    g_autofree uint8_t *bytes = g_malloc0(BIG);
    uint32_t fid = p9_flow_new_file(f->client, "file");

    g_assert_cmpint(p9_write(f->client, fid, bytes, BIG, 0), ==, BIG);
    for (int round = 0; round < 100; round++) {
        struct p9_message clunk = { .type = P9_TCLUNK }, reply;
        unsigned read = 0;

        fid = p9_flow_open_file(f->client, "file");
        clunk.fid = fid;
        for (uint16_t i = 0; i < 6; i++)
            p9_flow_send(f->client, read_message(fid, 0, 100000), i);
        p9_flow_send(f->client, clunk, 50);
        p9_flow_send(f->client, clunk, 51);
        for (int i = 0; i < 8; i++) {
            g_assert_true(p9_client_receive(f->client, &reply));
            if (reply.type == P9_RREAD) {
                g_assert_cmpuint(reply.data.count, ==, 100000);
                read++;
            } else if (reply.type == P9_RLERROR) {
                g_assert_cmpuint(reply.ecode, ==, EBADF);
            } else {
                g_assert_cmpuint(reply.type, ==, P9_RCLUNK);
            }
        }
        /* All of them were handled before it. */
        g_assert_cmpuint(read, ==, 6);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    P9_FLOW_ADD("p9-flow", "P9-04/pipelined", test_pipelined);
    P9_FLOW_ADD("p9-flow", "pipelined-large", test_pipelined_large);
    P9_FLOW_ADD("p9-flow", "P9-04/out-of-order", test_out_of_order);
    P9_FLOW_ADD("p9-flow", "locks", test_locks);
    P9_FLOW_ADD("p9-flow", "lock-errors", test_lock_errors);
    P9_FLOW_ADD("p9-flow", "lock-hang-up", test_lock_hang_up);
    P9_FLOW_ADD("p9-flow", "flush-waiting", test_flush_waiting);
    P9_FLOW_ADD("p9-flow", "flush-odd", test_flush_odd);
    P9_FLOW_ADD("p9-flow", "flush-race", test_flush_race);
    P9_FLOW_ADD("p9-flow", "concurrent-clunk", test_concurrent_clunk);
    add_p9_case_index_tests();
    add_p9_hostile_tests();
    add_p9_limits_tests();
    add_p9_parked_tests();
    return g_test_run();
}
