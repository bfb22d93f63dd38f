/* SPDX-License-Identifier: Apache-2.0
 *
 * p9-flow-test - many requests at a time: order, flushing, waiting.
 *
 * Ids: P9-04.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/control_client.h"
#include "tests/p9_client.h"

#define OK(call) g_assert_cmpint(call, ==, 0)

enum { NEVER_MS = 100, MANY = 400, BIG = 1 << 20 };

struct fixture {
    struct p9_rig *rig;
    struct p9_client *client, *other;
    struct control_client *control;
};

static struct control_client *connect_control(struct p9_rig *rig)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_strlcpy(address.sun_path, rig->control, sizeof(address.sun_path));
    OK(connect(fd, (struct sockaddr *)&address, sizeof(address)));
    return control_client_new(fd);
}

static void set_up(struct fixture *f, gconstpointer data)
{
    f->rig = p9_rig_new();
    p9_rig_start(f->rig, NULL);
    f->client = p9_client_connect(f->rig->socket, 1 << 20, 0);
    f->other = p9_client_connect(f->rig->socket, 65536, 0);
    f->control = connect_control(f->rig);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    control_client_free(f->control);
    p9_client_free(f->other);
    p9_client_free(f->client);
    p9_rig_free(f->rig);
}

static uint32_t new_file(struct p9_client *client, const char *name)
{
    uint32_t fid;

    OK(p9_walk(client, P9_ROOT, "", &fid));
    OK(p9_lcreate(client, fid, name, O_RDWR, 0644));
    return fid;
}

static uint32_t open_file(struct p9_client *client, const char *name)
{
    uint32_t fid;

    OK(p9_walk(client, P9_ROOT, name, &fid));
    OK(p9_lopen(client, fid, O_RDWR));
    return fid;
}

static void send_tagged(struct p9_client *client, struct p9_message m,
                        uint16_t tag)
{
    m.tag = tag;
    p9_client_send(client, &m);
}

static void send_flush(struct p9_client *client, uint16_t oldtag, uint16_t tag)
{
    struct p9_message m = { .type = P9_TFLUSH };

    m.oldtag = oldtag;
    send_tagged(client, m, tag);
}

static void send_getattr(struct p9_client *client, uint16_t tag)
{
    struct p9_message m = { .type = P9_TGETATTR };

    m.getattr.fid = P9_ROOT;
    m.getattr.mask = P9_GETATTR_BASIC;
    send_tagged(client, m, tag);
}

static void expect(struct p9_client *client, uint8_t type, uint16_t tag,
                   struct p9_message *ret_reply)
{
    g_assert_true(p9_client_receive(client, ret_reply));
    if (ret_reply->type != type && ret_reply->type == P9_RLERROR)
        g_test_message("error %u", ret_reply->ecode);
    g_assert_cmpuint(ret_reply->type, ==, type);
    g_assert_cmpuint(ret_reply->tag, ==, tag);
}

static void expect_error(struct p9_client *client, uint32_t error, uint16_t tag)
{
    struct p9_message reply;

    expect(client, P9_RLERROR, tag, &reply);
    g_assert_cmpuint(reply.ecode, ==, error);
}

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

/* P9-04: each request is answered once, by its tag, with what it asked for. */
static void test_pipelined(struct fixture *f, gconstpointer data)
{
    g_autofree uint8_t *bytes = g_malloc(BIG);
    g_autofree bool *answered = g_new0(bool, MANY);
    uint32_t fid = new_file(f->client, "file");

    for (size_t i = 0; i < BIG; i++)
        bytes[i] = (uint8_t)(i >> 8 ^ i);
    g_assert_cmpint(p9_write(f->client, fid, bytes, BIG, 0), ==, BIG);
    for (uint16_t i = 0; i < MANY; i++) {
        if (i % 4 == 0)
            send_tagged(f->client,
                        read_message(fid, i * 1000u, i % 16 ? 512 : 100000), i);
        else
            send_getattr(f->client, i);
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

/* More than may be in work at a time, again and again: what was taken in and
 * not handled yet is not forgotten when the rest is done. */
static void test_pipelined_large(struct fixture *f, gconstpointer data)
{
    g_autofree uint8_t *bytes = g_malloc0(BIG);
    uint32_t fid = new_file(f->client, "file");

    g_assert_cmpint(p9_write(f->client, fid, bytes, BIG, 0), ==, BIG);
    for (int round = 0; round < 100; round++) {
        struct p9_message reply;

        for (uint16_t i = 0; i < 16; i++)
            send_tagged(f->client, read_message(fid, 0, 500000), i);
        for (int i = 0; i < 16; i++) {
            g_assert_true(p9_client_receive(f->client, &reply));
            g_assert_cmpuint(reply.type, ==, P9_RREAD);
            g_assert_cmpuint(reply.data.count, ==, 500000);
        }
    }
}

/* P9-04: what waits is overtaken. */
static void test_out_of_order(struct fixture *f, gconstpointer data)
{
    uint32_t fid = new_file(f->client, "file");
    uint32_t theirs = open_file(f->other, "file");
    struct p9_message lock = p9_lock_message(fid, P9_LOCK_WRITE, P9_LOCK_WAIT,
                                             0, 0, 1);
    struct p9_message first = p9_lock_message(theirs, P9_LOCK_WRITE, 0, 0, 10,
                                              1);
    struct p9_message reply;

    OK(p9_client_call(f->other, &first, &reply));
    g_assert_cmpuint(reply.status, ==, P9_LOCK_SUCCESS);
    send_tagged(f->client, lock, 7);
    for (uint16_t tag = 8; tag < 40; tag++)
        send_getattr(f->client, tag);
    for (uint16_t tag = 8; tag < 40; tag++)
        expect(f->client, P9_RGETATTR, tag, &reply);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    OK(p9_clunk(f->other, theirs)); /* gives the lock up */
    expect(f->client, P9_RLOCK, 7, &reply);
    g_assert_cmpuint(reply.status, ==, P9_LOCK_SUCCESS);
}

/* ---- locks --------------------------------------------------------------- */

static uint8_t lock(struct p9_client *client, struct p9_message m)
{
    struct p9_message reply;

    OK(p9_client_call(client, &m, &reply));
    return reply.status;
}

static void test_locks(struct fixture *f, gconstpointer data)
{
    uint32_t fid = new_file(f->client, "file");
    uint32_t theirs = open_file(f->other, "file");
    struct p9_message test = p9_lock_message(theirs, P9_LOCK_WRITE, 0, 0, 0, 1);
    struct p9_message reply;

    g_assert_cmpuint(
        lock(f->client, p9_lock_message(fid, P9_LOCK_WRITE, 0, 10, 10, 1)), ==,
        P9_LOCK_SUCCESS);
    /* A process has no quarrel with itself, but with another. */
    g_assert_cmpuint(
        lock(f->client, p9_lock_message(fid, P9_LOCK_READ, 0, 10, 1, 1)), ==,
        P9_LOCK_SUCCESS);
    g_assert_cmpuint(
        lock(f->client, p9_lock_message(fid, P9_LOCK_WRITE, 0, 15, 1, 2)), ==,
        P9_LOCK_BLOCKED);
    g_assert_cmpuint(
        lock(f->other, p9_lock_message(theirs, P9_LOCK_READ, 0, 11, 1, 1)), ==,
        P9_LOCK_BLOCKED);
    g_assert_cmpuint(
        lock(f->other, p9_lock_message(theirs, P9_LOCK_WRITE, 0, 20, 0, 1)), ==,
        P9_LOCK_SUCCESS);
    test.type = P9_TGETLOCK;
    OK(p9_client_call(f->other, &test, &reply));
    g_assert_cmpuint(reply.lock.type, ==, P9_LOCK_READ);
    g_assert_cmpuint(reply.lock.start, ==, 10);
    g_assert_cmpuint(reply.lock.length, ==, 1);
    g_assert_cmpuint(
        lock(f->client, p9_lock_message(fid, P9_LOCK_UNLOCK, 0, 0, 0, 1)), ==,
        P9_LOCK_SUCCESS);
    OK(p9_client_call(f->other, &test, &reply));
    g_assert_cmpuint(reply.lock.type, ==, P9_LOCK_UNLOCK);
}

static void test_lock_errors(struct fixture *f, gconstpointer data)
{
    uint32_t fid = new_file(f->client, "file"), path;
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

/* Who hangs up holds nothing, and waits for nothing. */
static void test_lock_hang_up(struct fixture *f, gconstpointer data)
{
    uint32_t fid = new_file(f->client, "file");
    uint32_t theirs = open_file(f->other, "file");
    struct p9_client *third = p9_client_connect(f->rig->socket, 8192, 0);
    uint32_t its = open_file(third, "file");

    lock(f->other, p9_lock_message(theirs, P9_LOCK_WRITE, 0, 0, 0, 1));
    send_tagged(third,
                p9_lock_message(its, P9_LOCK_WRITE, P9_LOCK_WAIT, 0, 0, 1), 1);
    g_assert_false(p9_client_is_readable(third, NEVER_MS));
    p9_client_free(third);
    g_clear_pointer(&f->other, p9_client_free);
    for (int i = 0; lock(f->client, p9_lock_message(fid, P9_LOCK_WRITE, 0, 0, 0,
                                                    1)) != P9_LOCK_SUCCESS;
         i++) {
        g_assert_cmpint(i, <, 1000);
        g_usleep(10000);
    }
}

/* ---- flushing ------------------------------------------------------------ */

/* A lock that waits: no answer but the Rflush, and the lock is not taken. */
static void test_flush_waiting(struct fixture *f, gconstpointer data)
{
    uint32_t fid = new_file(f->client, "file");
    uint32_t theirs = open_file(f->other, "file");
    struct p9_message reply;

    lock(f->other, p9_lock_message(theirs, P9_LOCK_WRITE, 0, 0, 0, 1));
    send_tagged(f->client,
                p9_lock_message(fid, P9_LOCK_WRITE, P9_LOCK_WAIT, 0, 0, 1), 1);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    send_flush(f->client, 1, 2);
    expect(f->client, P9_RFLUSH, 2, &reply);
    OK(p9_clunk(f->other, theirs));
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    theirs = open_file(f->other, "file");
    g_assert_cmpuint(
        lock(f->other, p9_lock_message(theirs, P9_LOCK_WRITE, 0, 0, 0, 1)), ==,
        P9_LOCK_SUCCESS);
}

/* Of what is not there, of a flush, and twice. */
static void test_flush_odd(struct fixture *f, gconstpointer data)
{
    uint32_t fid = new_file(f->client, "file");
    uint32_t theirs = open_file(f->other, "file");
    struct p9_message reply;

    send_flush(f->client, 999, 2);
    expect(f->client, P9_RFLUSH, 2, &reply);
    send_flush(f->client, 3, 3); /* itself */
    expect(f->client, P9_RFLUSH, 3, &reply);
    send_getattr(f->client, 4);
    expect(f->client, P9_RGETATTR, 4, &reply);
    send_flush(f->client, 4, 5);
    expect(f->client, P9_RFLUSH, 5, &reply);
    lock(f->other, p9_lock_message(theirs, P9_LOCK_WRITE, 0, 0, 0, 1));
    send_tagged(f->client,
                p9_lock_message(fid, P9_LOCK_WRITE, P9_LOCK_WAIT, 0, 0, 1), 6);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    send_flush(f->client, 6, 7);
    send_flush(f->client, 6, 8);
    send_flush(f->client, 7, 9);
    /* Those that came later may find nothing to wait for any more. */
    for (uint16_t tag = 7; tag <= 9; tag++)
        expect(f->client, P9_RFLUSH, tag, &reply);
}

/* Never an answer after its Rflush, however the two race. */
static void test_flush_race(struct fixture *f, gconstpointer data)
{
    g_autofree uint8_t *bytes = g_malloc0(BIG);
    uint32_t fid = new_file(f->client, "file");

    g_assert_cmpint(p9_write(f->client, fid, bytes, BIG, 0), ==, BIG);
    for (int round = 0; round < 200; round++) {
        bool flushed[8] = { false };
        unsigned flushes = 0;

        for (uint16_t i = 0; i < 8; i++)
            send_tagged(f->client, read_message(fid, 0, 200000), i);
        for (uint16_t i = 0; i < 8; i++)
            send_flush(f->client, i, (uint16_t)(100 + i));
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

/* ---- the undo engine's word ---------------------------------------------- */

static json_t *request(struct fixture *f, const char *type, json_t *payload)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = control_client_request(f->control, type, payload, &error);

    g_assert_no_error(error);
    return answer;
}

/* A step in which the second deletion is held. */
static void begin_guarded_step(struct fixture *f)
{
    for (int i = 0; i < 6; i++) {
        g_autofree char *name = g_strdup_printf("file%d", i);

        OK(p9_clunk(f->client, new_file(f->client, name)));
    }
    json_decref(request(
        f, "safeguard.configure",
        json_pack("{s:i, s:i}", "delete_threshold", 2, "timeout_ms", 60000)));
    json_decref(request(f, "step.open",
                        json_pack("{s:i, s:s, s:s}", "step_id", 1, "type",
                                  "command", "command", "rm")));
    OK(p9_unlinkat(f->client, P9_ROOT, "file0", 0));
}

static void send_unlink(struct p9_client *client, const char *name,
                        uint16_t tag)
{
    struct p9_message m = { .type = P9_TUNLINKAT };

    m.unlinkat.fid = P9_ROOT;
    m.unlinkat.name = p9_string(name);
    m.unlinkat.flags = 0;
    send_tagged(client, m, tag);
}

static void decide(struct fixture *f, const char *action)
{
    json_t *event = control_client_wait_event(f->control,
                                              "event.safeguard_triggered");

    json_decref(request(f, "safeguard.confirm",
                        json_pack("{s:O, s:s}", "safeguard_id",
                                  json_object_get(event, "safeguard_id"),
                                  "action", action)));
    json_decref(event);
}

/* Changes wait, reading goes on; then they are made. */
static void test_parked_allowed(struct fixture *f, gconstpointer data)
{
    struct p9_message reply;
    struct stat st;
    uint32_t fid;

    begin_guarded_step(f);
    send_unlink(f->client, "file1", 1);
    send_unlink(f->client, "file2", 2);
    send_getattr(f->client, 3);
    expect(f->client, P9_RGETATTR, 3, &reply);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    OK(p9_stat(f->other, P9_ROOT, &st));
    decide(f, "allow");
    expect(f->client, P9_RUNLINKAT, 1, &reply);
    expect(f->client, P9_RUNLINKAT, 2, &reply);
    g_assert_cmpint(p9_walk(f->client, P9_ROOT, "file2", &fid), ==, -ENOENT);
}

/* Denied: they fail, and the step is taken back. */
static void test_parked_denied(struct fixture *f, gconstpointer data)
{
    uint32_t fid;

    begin_guarded_step(f);
    send_unlink(f->client, "file1", 1);
    send_unlink(f->client, "file2", 2);
    decide(f, "deny");
    expect_error(f->client, EPERM, 1);
    expect_error(f->client, EPERM, 2);
    OK(p9_walk(f->client, P9_ROOT, "file0", &fid));
    OK(p9_walk(f->client, P9_ROOT, "file2", &fid));
}

/* Who waits for a lock meanwhile has nothing to do with it. */
static void test_denied_beside_lock(struct fixture *f, gconstpointer data)
{
    uint32_t fid = new_file(f->client, "locked");
    uint32_t theirs = open_file(f->other, "locked");
    struct p9_message reply;

    lock(f->client, p9_lock_message(fid, P9_LOCK_WRITE, 0, 0, 0, 1));
    send_tagged(f->other,
                p9_lock_message(theirs, P9_LOCK_WRITE, P9_LOCK_WAIT, 0, 0, 1),
                7);
    g_assert_false(p9_client_is_readable(f->other, NEVER_MS));
    begin_guarded_step(f);
    send_unlink(f->client, "file1", 1);
    send_unlink(f->client, "file2", 2);
    decide(f, "deny");
    expect_error(f->client, EPERM, 1);
    expect_error(f->client, EPERM, 2);
    g_assert_false(p9_client_is_readable(f->other, NEVER_MS));
    lock(f->client, p9_lock_message(fid, P9_LOCK_UNLOCK, 0, 0, 0, 1));
    expect(f->other, P9_RLOCK, 7, &reply);
    g_assert_cmpuint(reply.status, ==, P9_LOCK_SUCCESS);
}

/* A change that waits and is flushed is not made. */
static void test_parked_flushed(struct fixture *f, gconstpointer data)
{
    struct p9_message reply;
    uint32_t fid;

    begin_guarded_step(f);
    send_unlink(f->client, "file1", 1);
    send_unlink(f->client, "file2", 2);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    send_flush(f->client, 2, 3);
    expect(f->client, P9_RFLUSH, 3, &reply);
    decide(f, "allow");
    expect(f->client, P9_RUNLINKAT, 1, &reply);
    OK(p9_walk(f->client, P9_ROOT, "file2", &fid));
}

/* So is one whose client begins a new session, or hangs up. */
static void test_parked_forgotten(struct fixture *f, gconstpointer data)
{
    struct p9_message reply;
    uint32_t fid;

    begin_guarded_step(f);
    send_unlink(f->client, "file1", 1);
    send_unlink(f->other, "file2", 1);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    g_assert_false(p9_client_is_readable(f->other, NEVER_MS));
    OK(p9_version(f->client, 65536, P9_VERSION, NULL, NULL));
    OK(p9_attach(f->client, P9_ROOT, "", 0));
    g_clear_pointer(&f->other, p9_client_free);
    g_usleep(50000);
    decide(f, "allow");
    OK(p9_walk(f->client, P9_ROOT, "file1", &fid));
    OK(p9_walk(f->client, P9_ROOT, "file2", &fid));
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    send_getattr(f->client, 1); /* the tag is free */
    expect(f->client, P9_RGETATTR, 1, &reply);
}

/* A large write that waits keeps its bytes. */
static void test_parked_write(struct fixture *f, gconstpointer data)
{
    g_autofree uint8_t *bytes = g_malloc(BIG), *back = g_malloc(BIG);
    uint32_t fid = new_file(f->client, "big"), small;
    struct p9_message m = { .type = P9_TWRITE }, reply;

    small = new_file(f->client, "small");
    for (size_t i = 0; i < BIG; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
    begin_guarded_step(f);
    send_unlink(f->client, "file1", 1);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    m.write.fid = fid;
    m.write.offset = 0;
    m.write.data = (struct p9_data){ bytes, 900000 };
    send_tagged(f->client, m, 2);
    m.write.fid = small;
    m.write.data.count = 100;
    send_tagged(f->client, m, 3);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    decide(f, "allow");
    for (int i = 0; i < 3; i++)
        g_assert_true(p9_client_receive(f->client, &reply));
    g_assert_cmpint(p9_read(f->client, fid, back, BIG, 0), ==, 900000);
    g_assert_cmpmem(back, 900000, bytes, 900000);
    g_assert_cmpint(p9_read(f->client, small, back, BIG, 0), ==, 100);
    g_assert_cmpmem(back, 100, bytes, 100);
}

/* ---- fids ---------------------------------------------------------------- */

/* Giving a fid back while it is in use. */
static void test_concurrent_clunk(struct fixture *f, gconstpointer data)
{
    g_autofree uint8_t *bytes = g_malloc0(BIG);
    uint32_t fid = new_file(f->client, "file");

    g_assert_cmpint(p9_write(f->client, fid, bytes, BIG, 0), ==, BIG);
    for (int round = 0; round < 100; round++) {
        struct p9_message clunk = { .type = P9_TCLUNK }, reply;
        unsigned read = 0;

        fid = open_file(f->client, "file");
        clunk.fid = fid;
        for (uint16_t i = 0; i < 6; i++)
            send_tagged(f->client, read_message(fid, 0, 100000), i);
        send_tagged(f->client, clunk, 50);
        send_tagged(f->client, clunk, 51);
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
        /* All of them were there before it. */
        g_assert_cmpuint(read, ==, 6);
    }
}

#define ADD(name, function)                                                    \
    g_test_add("/p9-flow/" name, struct fixture, NULL, set_up, function,       \
               tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("P9-04/pipelined", test_pipelined);
    ADD("pipelined-large", test_pipelined_large);
    ADD("P9-04/out-of-order", test_out_of_order);
    ADD("locks", test_locks);
    ADD("lock-errors", test_lock_errors);
    ADD("lock-hang-up", test_lock_hang_up);
    ADD("flush-waiting", test_flush_waiting);
    ADD("flush-odd", test_flush_odd);
    ADD("flush-race", test_flush_race);
    ADD("parked-allowed", test_parked_allowed);
    ADD("parked-denied", test_parked_denied);
    ADD("denied-beside-lock", test_denied_beside_lock);
    ADD("parked-flushed", test_parked_flushed);
    ADD("parked-forgotten", test_parked_forgotten);
    ADD("parked-write", test_parked_write);
    ADD("concurrent-clunk", test_concurrent_clunk);
    return g_test_run();
}
