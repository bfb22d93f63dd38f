/* SPDX-License-Identifier: Apache-2.0
 *
 * p9-order-test - later requests must not disturb unanswered ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/p9/p9_fixture.h"

/* ---- a fid that is given back behind requests ---------------------------- */

enum { LARGE = 60000 }; /* not handled by the connection's thread */

static size_t append(uint8_t *bytes, size_t size, size_t room,
                     struct p9_message *m, uint16_t tag)
{
    int n;

    m->tag = tag;
    n = p9_message_encode(m, bytes + size, room - size);
    g_assert_cmpint(n, >, 0);
    return size + (size_t)n;
}

/* The fid's next use has arrived with the request, and must not overtake it. */
static void clunk_behind(struct fixture *f, struct p9_message *m)
{
    struct p9_message clunk = { .type = P9_TCLUNK }, reply;
    size_t room = 2 * LARGE, size;
    g_autofree uint8_t *bytes = g_malloc(room);

    clunk.fid = m->fid;
    size = append(bytes, 0, room, m, 1);
    size = append(bytes, size, room, &clunk, 2);
    p9_client_send_bytes(f->client, bytes, size);
    for (int i = 0; i < 2; i++) {
        g_assert_true(p9_client_receive(f->client, &reply));
        if (reply.type == P9_RLERROR)
            g_test_message("error %u", reply.ecode);
        g_assert_cmpuint(reply.type, ==,
                         reply.tag == 1 ? m->type + 1 : P9_RCLUNK);
    }
}

static void test_clunk_behind(struct fixture *f, gconstpointer option)
{
    g_autofree uint8_t *data = g_malloc0(LARGE);
    struct p9_message read = { .type = P9_TREAD }, sync = { .type = P9_TFSYNC },
                      list = { .type = P9_TREADDIR },
                      write = { .type = P9_TWRITE };

    p9_host_file(f, "file", "text");
    read.read.offset = list.read.offset = write.write.offset = 0;
    read.read.count = list.read.count = LARGE;
    write.write.data = (struct p9_data){ data, LARGE };
    sync.fsync.datasync = 0;
    for (int i = 0; i < 100; i++) {
        write.write.fid = p9_open_fid(f, "file", O_WRONLY);
        clunk_behind(f, &write);
        read.read.fid = p9_open_fid(f, "file", O_RDONLY);
        clunk_behind(f, &read);
        sync.fsync.fid = p9_open_fid(f, "file", O_RDONLY);
        clunk_behind(f, &sync);
        list.read.fid = p9_open_fid(f, "", O_RDONLY);
        clunk_behind(f, &list);
    }
}

/* An attribute has its value when the reply is sent. (Whether the file system
 * accepts such a size is another matter.) */
static void test_clunk_behind_attribute(struct fixture *f, gconstpointer option)
{
    g_autofree uint8_t *data = g_malloc0(LARGE), *bytes = g_malloc(2 * LARGE);
    struct p9_message create = { .type = P9_TXATTRCREATE }, reply;
    struct p9_message write = { .type = P9_TWRITE },
                      clunk = { .type = P9_TCLUNK };
    size_t size;

    p9_host_file(f, "file", "text");
    create.xattrcreate.name = p9_string("user.large");
    create.xattrcreate.size = LARGE;
    create.xattrcreate.flags = 0;
    write.write.offset = 0;
    write.write.data = (struct p9_data){ data, LARGE };
    for (int i = 0; i < 100; i++) {
        clunk.fid = p9_fid(f, "file");
        create.xattrcreate.fid = write.write.fid = clunk.fid;
        OK(p9_client_call(f->client, &create, NULL));
        size = append(bytes, 0, 2 * LARGE, &write, 1);
        size = append(bytes, size, 2 * LARGE, &clunk, 2);
        p9_client_send_bytes(f->client, bytes, size);
        for (int j = 0; j < 2; j++) {
            g_assert_true(p9_client_receive(f->client, &reply));
            g_assert_true(reply.type != P9_RLERROR ||
                          (reply.tag == 2 && reply.ecode != EINVAL));
        }
    }
}

/* ---- requests that the engine does not take yet ------------------------- */

/* Begin a step in which the first deletion waits for a decision. Returns the
 * event. */
static json_t *begin_held_step(struct fixture *f)
{
    struct p9_message m = { .type = P9_TUNLINKAT, .tag = 60001 };

    p9_host_file(f, "other", "text");
    p9_control(
        f, "safeguard.configure",
        json_pack("{s:i, s:i}", "delete_threshold", 1, "timeout_ms", 60000));
    p9_step_open(f, 1);
    m.unlinkat.fid = P9_ROOT;
    m.unlinkat.name = p9_string("other");
    m.unlinkat.flags = 0;
    p9_client_send(f->client, &m);
    return control_client_wait_event(f->control, "event.safeguard_triggered");
}

/* The write is made nevertheless. */
static void test_clunk_behind_parked(struct fixture *f, gconstpointer option)
{
    struct p9_message write = { .type = P9_TWRITE, .tag = 60002 }, reply;
    g_autofree char *text = NULL;
    json_t *event;

    p9_host_file(f, "file", "text");
    write.write.fid = p9_open_fid(f, "file", O_WRONLY);
    write.write.offset = 0;
    write.write.data = (struct p9_data){ (const uint8_t *)"more", 4 };
    event = begin_held_step(f);
    p9_client_send(f->client, &write);
    OK(p9_clunk(f->client, write.write.fid));
    p9_control(f, "safeguard.confirm",
               json_pack("{s:O, s:s}", "safeguard_id",
                         json_object_get(event, "safeguard_id"), "action",
                         "allow"));
    json_decref(event);
    for (int i = 0; i < 2; i++) {
        g_assert_true(p9_client_receive(f->client, &reply));
        g_assert_cmpuint(reply.type, !=, P9_RLERROR);
    }
    text = p9_host_read(f, "file");
    g_assert_cmpstr(text, ==, "more");
}

enum { WRITES = 25, FIRST_TAG = 30000 };

/* Send a lock that waits, n writes at once, and what these must not delay. */
static void send_writes(struct fixture *f, uint32_t fid, uint16_t n,
                        const uint8_t *data)
{
    size_t room = (WRITES + 1) * (LARGE + 100), size;
    g_autofree uint8_t *bytes = g_malloc(room);
    struct p9_message sync = { .type = P9_TFSYNC },
                      write = { .type = P9_TWRITE },
                      look = { .type = P9_TGETATTR };

    sync.fsync.fid = write.write.fid = fid;
    sync.fsync.datasync = 0;
    write.write.offset = 0;
    write.write.data = (struct p9_data){ data, LARGE };
    look.getattr.fid = P9_ROOT;
    look.getattr.mask = P9_GETATTR_BASIC;
    size = append(bytes, 0, room, &sync, FIRST_TAG + WRITES);
    for (uint16_t i = 0; i < n; i++)
        size = append(bytes, size, room, &write, FIRST_TAG + i);
    size = append(bytes, size, room, &look, FIRST_TAG + WRITES + 1);
    p9_client_send_bytes(f->client, bytes, size);
}

/* With one processor for both, a thread that is woken runs before the one that
 * woke it continues. */
static void restart_on_one_cpu(struct fixture *f, const char *option)
{
    int cpu = sched_getcpu();
    cpu_set_t one;

    g_assert_cmpint(cpu, >=, 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    OK(sched_setaffinity(0, sizeof(one), &one));
    p9_restart(f, option);
}

/* Waiting writes use up the window; as soon as there is space, more is read,
 * though no request has ended. */
static void test_room_again(struct fixture *f, gconstpointer option)
{
    static const struct timeval patience = { .tv_sec = 20 };
    g_autofree uint8_t *data = g_malloc0(LARGE);
    struct p9_message flush = { .type = P9_TFLUSH }, reply;
    uint32_t fid;

    restart_on_one_cpu(f, option);
    p9_host_file(f, "file", "");
    fid = p9_open_fid(f, "file", O_WRONLY);
    json_decref(begin_held_step(f));
    OK(setsockopt(f->client->fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
                  sizeof(patience)));
    for (int i = 0; i < 1000; i++) {
        uint16_t n = (uint16_t)(WRITES - i % 5);

        send_writes(f, fid, n, data);
        for (int j = 0; j < 2; j++) {
            g_assert_true(p9_client_receive(f->client, &reply));
            g_assert_cmpuint(reply.type, !=, P9_RLERROR);
        }
        for (uint16_t j = 0; j < n; j++) {
            flush.oldtag = FIRST_TAG + j;
            OK(p9_client_call(f->client, &flush, NULL));
        }
    }
}

#define ADD(name, option, function) P9_ADD("p9-order", name, option, function)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("clunk-behind", NULL, test_clunk_behind);
    ADD("clunk-behind-attribute", NULL, test_clunk_behind_attribute);
    ADD("clunk-behind-parked", NULL, test_clunk_behind_parked);
    /* The last case: it stays on one processor. */
    ADD("room-again", "--thread-pool-size=1", test_room_again);
    return g_test_run();
}
