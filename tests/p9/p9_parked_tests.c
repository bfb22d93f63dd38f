/* SPDX-License-Identifier: Apache-2.0
 *
 * p9_parked_tests - requests that the undo engine holds, and their release.
 */
#include <errno.h>

#include "tests/p9/p9_flow.h"
#include "tests/p9/p9_tests.h"

enum { BIG = 1 << 20 };

static json_t *request(struct fixture *f, const char *type, json_t *payload)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = control_client_request(f->control, type, payload, &error);

    g_assert_no_error(error);
    return answer;
}

/* Begin a step in which the second deletion is held. */
static void begin_guarded_step(struct fixture *f)
{
    for (int i = 0; i < 6; i++) {
        g_autofree char *name = g_strdup_printf("file%d", i);

        OK(p9_clunk(f->client, p9_flow_new_file(f->client, name)));
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
    p9_flow_send(client, m, tag);
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

/* Changes wait, reads go on; then the changes are made. */
static void test_parked_allowed(struct fixture *f, gconstpointer data)
{
    struct p9_message reply;
    struct stat st;
    uint32_t fid;

    begin_guarded_step(f);
    send_unlink(f->client, "file1", 1);
    send_unlink(f->client, "file2", 2);
    p9_flow_getattr(f->client, 3);
    p9_flow_expect(f->client, P9_RGETATTR, 3, &reply);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    OK(p9_stat(f->other, P9_ROOT, &st));
    decide(f, "allow");
    p9_flow_expect(f->client, P9_RUNLINKAT, 1, &reply);
    p9_flow_expect(f->client, P9_RUNLINKAT, 2, &reply);
    g_assert_cmpint(p9_walk(f->client, P9_ROOT, "file2", &fid), ==, -ENOENT);
}

/* After a denial they fail, and the step is rolled back. */
static void test_parked_denied(struct fixture *f, gconstpointer data)
{
    uint32_t fid;

    begin_guarded_step(f);
    send_unlink(f->client, "file1", 1);
    send_unlink(f->client, "file2", 2);
    decide(f, "deny");
    p9_flow_expect_error(f->client, EPERM, 1);
    p9_flow_expect_error(f->client, EPERM, 2);
    OK(p9_walk(f->client, P9_ROOT, "file0", &fid));
    OK(p9_walk(f->client, P9_ROOT, "file2", &fid));
}

/* A request that waits for a lock meanwhile is not affected. */
static void test_denied_beside_lock(struct fixture *f, gconstpointer data)
{
    uint32_t fid = p9_flow_new_file(f->client, "locked");
    uint32_t theirs = p9_flow_open_file(f->other, "locked");
    struct p9_message reply;

    p9_flow_lock(f->client, p9_lock_message(fid, P9_LOCK_WRITE, 0, 0, 0, 1));
    p9_flow_send(f->other,
                 p9_lock_message(theirs, P9_LOCK_WRITE, P9_LOCK_WAIT, 0, 0, 1),
                 7);
    g_assert_false(p9_client_is_readable(f->other, NEVER_MS));
    begin_guarded_step(f);
    send_unlink(f->client, "file1", 1);
    send_unlink(f->client, "file2", 2);
    decide(f, "deny");
    p9_flow_expect_error(f->client, EPERM, 1);
    p9_flow_expect_error(f->client, EPERM, 2);
    g_assert_false(p9_client_is_readable(f->other, NEVER_MS));
    p9_flow_lock(f->client, p9_lock_message(fid, P9_LOCK_UNLOCK, 0, 0, 0, 1));
    p9_flow_expect(f->other, P9_RLOCK, 7, &reply);
    g_assert_cmpuint(reply.status, ==, P9_LOCK_SUCCESS);
}

/* A waiting change that is flushed is not made. */
static void test_parked_flushed(struct fixture *f, gconstpointer data)
{
    struct p9_message reply;
    uint32_t fid;

    begin_guarded_step(f);
    send_unlink(f->client, "file1", 1);
    send_unlink(f->client, "file2", 2);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    p9_flow_flush(f->client, 2, 3);
    p9_flow_expect(f->client, P9_RFLUSH, 3, &reply);
    decide(f, "allow");
    p9_flow_expect(f->client, P9_RUNLINKAT, 1, &reply);
    OK(p9_walk(f->client, P9_ROOT, "file2", &fid));
}

/* Nor is one whose client begins a new session, or hangs up. */
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
    p9_flow_getattr(f->client, 1); /* the tag is free */
    p9_flow_expect(f->client, P9_RGETATTR, 1, &reply);
}

/* A large write that waits keeps its data. */
static void test_parked_write(struct fixture *f, gconstpointer data)
{
    g_autofree uint8_t *bytes = g_malloc(BIG), *back = g_malloc(BIG);
    uint32_t fid = p9_flow_new_file(f->client, "big"), small;
    struct p9_message m = { .type = P9_TWRITE }, reply;

    small = p9_flow_new_file(f->client, "small");
    for (size_t i = 0; i < BIG; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
    begin_guarded_step(f);
    send_unlink(f->client, "file1", 1);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    m.write.fid = fid;
    m.write.offset = 0;
    m.write.data = (struct p9_data){ bytes, 900000 };
    p9_flow_send(f->client, m, 2);
    m.write.fid = small;
    m.write.data.count = 100;
    p9_flow_send(f->client, m, 3);
    g_assert_false(p9_client_is_readable(f->client, NEVER_MS));
    decide(f, "allow");
    for (int i = 0; i < 3; i++)
        g_assert_true(p9_client_receive(f->client, &reply));
    g_assert_cmpint(p9_read(f->client, fid, back, BIG, 0), ==, 900000);
    g_assert_cmpmem(back, 900000, bytes, 900000);
    g_assert_cmpint(p9_read(f->client, small, back, BIG, 0), ==, 100);
    g_assert_cmpmem(back, 100, bytes, 100);
}

void add_p9_parked_tests(void)
{
    P9_FLOW_ADD("p9-parked", "allowed", test_parked_allowed);
    P9_FLOW_ADD("p9-parked", "denied", test_parked_denied);
    P9_FLOW_ADD("p9-parked", "denied-beside-lock", test_denied_beside_lock);
    P9_FLOW_ADD("p9-parked", "flushed", test_parked_flushed);
    P9_FLOW_ADD("p9-parked", "forgotten", test_parked_forgotten);
    P9_FLOW_ADD("p9-parked", "write", test_parked_write);
}
