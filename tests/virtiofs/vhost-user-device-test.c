/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost-user-device-test - the daemon as a device.
 *
 * Negotiation, rings that stop and continue, memory that changes, the log of
 * dirty pages, the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/virtiofs/fuse_client.h"
#include "tests/virtiofs/vhost_user_tests.h"
#include "virtiofs/vhost/vu_message.h"

static void expect_works(struct client *client)
{
    struct fuse_attr attr;

    g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, 0);
}

/* ---- INIT ---------------------------------------------------------------- */

static int send_init(struct client *client, uint32_t major, uint32_t minor,
                     uint32_t flags, uint32_t size, struct fuse_init_out *out)
{
    struct fuse_init_in in = {
        .major = major, .minor = minor, .flags = flags, .flags2 = ~0u
    };
    struct iovec args[] = { { &in, size } };
    const void *reply;
    int r = fuse_client_call(client, FUSE_QUEUE, FUSE_INIT, 0, args, 1,
                             sizeof(*out), &reply, NULL);

    if (r == 0)
        memcpy(out, reply, sizeof(*out));
    return r;
}

static void test_init(void)
{
    struct client *client = client_new(0, NULL);
    struct fuse_init_out out = fuse_client_init(client);

    g_assert_cmpuint(out.major, ==, 7);
    g_assert_cmpuint(out.minor, ==, 39);
    g_assert_cmpuint(out.max_write, ==, 1 << 20);
    g_assert_cmpuint(out.max_pages, ==, 256);
    g_assert_cmpuint(out.time_gran, ==, 1);
    g_assert_cmphex(out.flags & FUSE_INIT_EXT, !=, 0);
    g_assert_cmphex(out.flags & FUSE_HANDLE_KILLPRIV_V2, !=, 0);
    g_assert_cmphex(out.flags & FUSE_AUTO_INVAL_DATA, !=, 0);
    g_assert_cmphex(out.flags2, ==, FUSE_DIRECT_IO_ALLOW_MMAP >> 32);
    g_assert_cmphex(out.flags & (FUSE_WRITEBACK_CACHE | FUSE_POSIX_LOCKS |
                                 FUSE_FLOCK_LOCKS | FUSE_DONT_MASK |
                                 FUSE_NO_OPEN_SUPPORT | FUSE_POSIX_ACL),
                    ==, 0);
    /* flags2 counts only if INIT_EXT announces it. */
    g_assert_cmpint(send_init(client, 7, 36, FUSE_BIG_WRITES,
                              sizeof(struct fuse_init_in), &out),
                    ==, 0);
    g_assert_cmphex(out.flags, ==, FUSE_BIG_WRITES);
    g_assert_cmphex(out.flags2, ==, 0);
    client_free(client);
}

static void test_init_versions(void)
{
    struct client *client = client_new(0, NULL);
    struct fuse_init_out out;
    struct fuse_attr attr;

    g_assert_cmpint(send_init(client, 6, 40, 0, 16, &out), ==, -EPROTO);
    g_assert_cmpint(send_init(client, 7, 26, 0, 16, &out), ==, -EPROTO);
    g_assert_cmpint(send_init(client, 7, 31, 0, 15, &out), ==, -EINVAL);
    g_assert_cmpint(send_init(client, 8, 0, 0, 64, &out), ==, 0);
    g_assert_cmpuint(out.major, ==, 7);
    g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, -EIO);
    g_assert_cmpint(send_init(client, 7, 27, 0, 16, &out), ==, 0);
    expect_works(client);
    client_free(client);
}

/* A guest that reboots keeps nothing. */
static void test_init_again(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_attr attr;
    const void *data;
    uint64_t node, fh;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    fuse_client_init(client);
    g_assert_cmpint(fuse_client_getattr(client, node, &attr), ==, -ESTALE);
    g_assert_cmpint(fuse_client_read(client, fh, 0, 1, &data), ==, -EBADF);
    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_DESTROY, 0, NULL,
                                     0, 0, NULL, NULL),
                    ==, 0);
    g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, -EIO);
    fuse_client_init(client);
    expect_works(client);
    client_free(client);
}

/* A new daemon replaces a killed one, on the same socket; the machine is
 * restarted, and finds what is on the disk. */
static void test_daemon_again(void)
{
    const char *arguments[] = { "--restartable", NULL };
    struct client *client = fuse_client_new(0, arguments);
    struct fuse_entry_out entry;
    struct fuse_attr attr;
    const void *data;
    uint64_t node, fh;

    /* With slots it would not share the memory again. */
    g_assert_cmphex(client->protocol_features & VU_PROTOCOL_MEM_SLOTS, ==, 0);
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(
            fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh), ==, 0);
        g_assert_cmpint(fuse_client_write(client, fh, 0, "text", 4, 0), ==, 4);
        client_restart(client);
        /* QEMU relies on what it negotiated with the first daemon: REPLY_ACK.
         */
        g_assert_true(client_tell(client, VU_SET_OWNER, NULL, 0, NULL, 0));
        client_start(client, CLIENT_EVENT_IDX);
        g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, -EIO);
        fuse_client_init(client);
        g_assert_cmpint(fuse_client_getattr(client, node, &attr), ==, -ESTALE);
        g_assert_cmpint(fuse_client_read(client, fh, 0, 4, &data), ==, -EBADF);
        g_assert_cmpint(fuse_client_lookup(client, ROOT, "f", &entry), ==, 0);
        g_assert_cmpuint(entry.attr.size, ==, 4);
        g_assert_cmpint(fuse_client_remove(client, FUSE_UNLINK, ROOT, "f"), ==,
                        0);
    }
    expect_works(client);
    client_free(client);
}

static void test_cache(gconstpointer data)
{
    const char *arguments[] = { "--cache", data, NULL };
    struct client *client = fuse_client_new(0, arguments);
    bool never = strcmp(data, "never") == 0;
    struct fuse_create_in in = { .flags = O_RDWR, .mode = S_IFREG | 0644 };
    struct iovec args[] = { PIECE(in), { (void *)"f", 2 } };
    const struct {
        struct fuse_entry_out entry;
        struct fuse_open_out open;
    } * out;
    const void *reply;

    g_assert_cmpint(fuse_client_call(client, FUSE_QUEUE, FUSE_CREATE, ROOT,
                                     args, 2, sizeof(*out), &reply, NULL),
                    ==, 0);
    out = reply;
    g_assert_cmpuint(out->entry.entry_valid, ==, never ? 0 : 86400);
    g_assert_cmphex(out->open.open_flags, ==,
                    never ? FOPEN_DIRECT_IO : FOPEN_KEEP_CACHE);
    client_free(client);
}

static void test_readonly(void)
{
    const char *arguments[] = { "--readonly", NULL };
    struct client *client = fuse_client_new(0, arguments);
    g_autofree char *path = client_host_path(client, "f");
    struct fuse_entry_out entry;
    const void *data;
    uint64_t node, fh;

    g_assert_true(g_file_set_contents(path, "text", 4, NULL));
    g_assert_cmpint(fuse_client_mkdir(client, ROOT, "d", &node), ==, -EROFS);
    g_assert_cmpint(fuse_client_remove(client, FUSE_UNLINK, ROOT, "f"), ==,
                    -EROFS);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "f", &entry), ==, 0);
    g_assert_cmpint(fuse_client_open(client, entry.nodeid, O_RDWR, 0, &fh), ==,
                    -EROFS);
    g_assert_cmpint(fuse_client_open(client, entry.nodeid, O_RDONLY, 0, &fh),
                    ==, 0);
    g_assert_cmpint(fuse_client_read(client, fh, 0, 9, &data), ==, 4);
    client_free(client);
}

/* ---- rings --------------------------------------------------------------- */

/* Requests to both queues at once, from one thread each. */
struct hammer {
    struct client *client;
    unsigned queue;
    const char *name;
};

static gpointer hammer(gpointer data)
{
    struct hammer *h = data;
    struct iovec args[] = { { (void *)h->name, strlen(h->name) + 1 } };

    for (int i = 0; i < 2000; i++) {
        int r = fuse_client_call(h->client, h->queue, FUSE_LOOKUP, ROOT, args,
                                 1, sizeof(struct fuse_entry_out), NULL, NULL);

        g_assert_cmpint(r, ==, 0);
    }
    return NULL;
}

static void test_two_queues(void)
{
    struct client *client = fuse_client_new(CLIENT_EVENT_IDX, NULL);
    struct hammer hammers[2] = { { client, 1, "f" }, { client, 2, "f" } };
    GThread *threads[2];
    struct fuse_entry_out entry;
    struct fuse_attr attr;
    uint64_t node, fh;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    for (int i = 0; i < 2; i++)
        threads[i] = g_thread_new("hammer", hammer, &hammers[i]);
    for (int i = 0; i < 2; i++)
        g_thread_join(threads[i]);
    g_assert_cmpint(fuse_client_lookup(client, ROOT, "f", &entry), ==, 0);
    g_assert_cmpuint(entry.nodeid, ==, node);
    fuse_client_forget(client, node, 4001);
    g_assert_cmpint(fuse_client_getattr(client, node, &attr), ==, 0);
    fuse_client_forget(client, node, 1);
    g_assert_cmpint(fuse_client_getattr(client, node, &attr), ==, -ESTALE);
    client_free(client);
}

/* GET_VRING_BASE returns where to continue; the used ring continues by itself.
 */
static void test_resume(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct client_queue *q = &client->queues[FUSE_QUEUE];
    struct vhost_ring_addresses addresses = {
        .index = FUSE_QUEUE,
        .desc = (uintptr_t)q->ring.desc,
        .used = (uintptr_t)q->ring.used,
        .avail = (uintptr_t)q->ring.avail,
    };
    uint32_t base[2] = { FUSE_QUEUE, 0 };
    uint64_t index = FUSE_QUEUE;

    for (int i = 0; i < 300; i++)
        expect_works(client);
    base[1] = client_stop_queue(client, FUSE_QUEUE);
    g_assert_cmpuint(base[1], ==, 301); /* with INIT */
    g_assert_true(client_tell(client, VU_SET_VRING_BASE, base, 8, NULL, 0));
    g_assert_true(client_tell(client, VU_SET_VRING_ADDR, &addresses,
                              sizeof(addresses), NULL, 0));
    g_assert_true(
        client_tell(client, VU_SET_VRING_CALL, &index, 8, &q->call, 1));
    g_assert_true(
        client_tell(client, VU_SET_VRING_KICK, &index, 8, &q->kick, 1));
    for (int i = 0; i < 300; i++)
        expect_works(client);
    client_free(client);
}

static void test_disable(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_in_header head = { .len = sizeof(head),
                                   .opcode = FUSE_STATFS,
                                   .nodeid = ROOT };
    struct iovec in = PIECE(head);
    uint32_t ring[2] = { FUSE_QUEUE, 0 };
    uint32_t len;

    g_assert_true(client_tell(client, VU_SET_VRING_ENABLE, ring, 8, NULL, 0));
    client_submit(client, FUSE_QUEUE, &in, 1, 200);
    client_expect_silence(client, FUSE_QUEUE, 50);
    /* Features neither enable it nor disable the other. */
    g_assert_true(
        client_tell(client, VU_SET_FEATURES, &client->features, 8, NULL, 0));
    client_expect_silence(client, FUSE_QUEUE, 50);
    ring[1] = 1;
    g_assert_true(client_tell(client, VU_SET_VRING_ENABLE, ring, 8, NULL, 0));
    client_reap(client, FUSE_QUEUE, &len);
    g_assert_cmpuint(len, ==, 16 + sizeof(struct fuse_statfs_out));
    client_free(client);
}

/* Without a kick eventfd the daemon polls. */
static void test_polling(void)
{
    struct client *client = fuse_client_new(0, NULL);
    uint64_t no_fd = FUSE_QUEUE | VU_NO_FD;

    g_assert_true(client_tell(client, VU_SET_VRING_KICK, &no_fd, 8, NULL, 0));
    for (int i = 0; i < 20; i++)
        expect_works(client);
    client_free(client);
}

static void test_new_call_fd(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct client_queue *q = &client->queues[FUSE_QUEUE];
    uint64_t index = FUSE_QUEUE;
    int other = dup(q->err);

    g_assert_true(client_tell(client, VU_SET_VRING_CALL, &index, 8, &other, 1));
    close(q->call);
    q->call = other;
    expect_works(client);
    client_free(client);
}

static void test_reset_device(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_attr attr;

    g_assert_true(client_tell(client, VU_RESET_DEVICE, NULL, 0, NULL, 0));
    for (unsigned i = 0; i < CLIENT_QUEUES; i++)
        client_start_queue(client, i);
    g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, -EIO);
    fuse_client_init(client);
    expect_works(client);
    client_free(client);
}

static void test_queries(void)
{
    struct client *client = fuse_client_new(0, NULL);
    uint64_t number = 0;

    client_ask(client, VU_GET_QUEUE_NUM, NULL, 0, &number, 8);
    g_assert_cmpuint(number, ==, VHOST_RINGS_MAX);
    client_ask(client, VU_GET_MAX_MEM_SLOTS, NULL, 0, &number, 8);
    g_assert_cmpuint(number, >=, 32);
    client_free(client);
}

/* ---- memory -------------------------------------------------------------- */

/* Slots are added and removed while a queue is busy. */
static void test_hotplug(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct {
        uint64_t padding;
        struct guest_region region;
    } slot = { .region = { 1ull << 32, 1 << 20, 1ull << 40, 0 } };
    struct hammer h = { client, 2, "f" };
    uint64_t node, fh;
    GThread *thread;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    thread = g_thread_new("hammer", hammer, &h);
    for (int i = 0; i < 100; i++) {
        g_assert_true(client_tell(client, VU_ADD_MEM_REG, &slot, sizeof(slot),
                                  &client->memory_fd, 1));
        g_assert_true(
            client_tell(client, VU_REM_MEM_REG, &slot, sizeof(slot), NULL, 0));
    }
    g_thread_join(thread);
    g_assert_false(
        client_tell(client, VU_REM_MEM_REG, &slot, sizeof(slot), NULL, 0));
    client_free(client);
}

static bool is_dirty(const uint8_t *log, uint64_t address)
{
    return log[address / 4096 / 8] & 1 << address / 4096 % 8;
}

enum { LOG_SIZE = CLIENT_MEMORY / 4096 / 8 };

/* The caller owns the fd. */
static int share_log(struct client *client)
{
    uint64_t payload[2] = { LOG_SIZE, 0 }, reply = 1;
    int fd = memfd_create("log", MFD_CLOEXEC);

    g_assert_cmpint(ftruncate(fd, LOG_SIZE), ==, 0);
    client_send(client, VU_SET_LOG_BASE, payload, sizeof(payload), &fd, 1);
    g_assert_cmpint(recv(client->socket, payload, 12, MSG_WAITALL), ==, 12);
    g_assert_cmpint(recv(client->socket, &reply, 8, MSG_WAITALL), ==, 8);
    g_assert_cmpuint(reply, ==, 0);
    return fd;
}

static void test_dirty_log(void)
{
    struct client *client = fuse_client_new(CLIENT_LOG_ALL, NULL);
    struct client_queue *q = &client->queues[FUSE_QUEUE];
    uint64_t reply_at = q->arena + (5u << 18);
    int fd = share_log(client);
    uint8_t *log = mmap(NULL, LOG_SIZE, PROT_READ, MAP_SHARED, fd, 0);

    g_assert_true(log != MAP_FAILED);
    expect_works(client);
    g_assert_true(is_dirty(log, reply_at));
    g_assert_true(
        is_dirty(log, (uint64_t)((uint8_t *)q->ring.used - client->memory)));
    g_assert_false(is_dirty(log, q->arena));
    g_assert_false(is_dirty(log, reply_at + 4096));
    munmap(log, LOG_SIZE);
    close(fd);
    client_free(client);
}

/* The front-end truncates the log's memory: the queues end, nothing else does.
 * A request in progress may be answered or not. */
static void test_log_taken_back(void)
{
    struct client *client = fuse_client_new(CLIENT_LOG_ALL, NULL);
    static const uint64_t one = 1;
    int fd = share_log(client);
    struct fuse_getattr_in getattr = { 0 };
    struct fuse_in_header head = { .opcode = FUSE_GETATTR,
                                   .nodeid = ROOT,
                                   .len = sizeof(head) + sizeof(getattr) };
    struct iovec in[] = { PIECE(head), PIECE(getattr) };
    struct pollfd err = { .events = POLLIN };

    g_assert_cmpint(ftruncate(fd, 0), ==, 0);
    client_submit(client, FUSE_QUEUE, in, 2, 200);
    g_usleep(200000); /* it may be served before that is detected */
    g_assert_cmpint(write(client->queues[FUSE_QUEUE].kick, &one, sizeof(one)),
                    ==, sizeof(one));
    err.fd = client->queues[FUSE_QUEUE].err;
    g_assert_cmpint(poll(&err, 1, 10000), ==, 1);
    client_expect_alive(client);
    close(fd);
    client_free(client);
}

/* ---- the end ------------------------------------------------------------- */

static void test_end(gconstpointer data)
{
    struct client *client = fuse_client_new(0, NULL);
    int number = GPOINTER_TO_INT(data);
    uint64_t node, fh;

    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    if (number)
        kill(client->pid, number);
    else
        shutdown(client->socket, SHUT_RDWR);
    g_assert_cmpint(client_wait_exit(client), ==, 0);
    client_free(client);
}

int main(int argc, char **argv)
{
    umask(0);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vhost-user/init/flags", test_init);
    g_test_add_func("/vhost-user/init/versions", test_init_versions);
    g_test_add_func("/vhost-user/init/again", test_init_again);
    g_test_add_func("/vhost-user/init/daemon-again", test_daemon_again);
    g_test_add_data_func("/vhost-user/cache/never", "never", test_cache);
    g_test_add_data_func("/vhost-user/cache/always", "always", test_cache);
    g_test_add_func("/vhost-user/readonly", test_readonly);
    g_test_add_func("/vhost-user/rings/two-queues", test_two_queues);
    g_test_add_func("/vhost-user/rings/resume", test_resume);
    g_test_add_func("/vhost-user/rings/disable", test_disable);
    g_test_add_func("/vhost-user/rings/polling", test_polling);
    g_test_add_func("/vhost-user/rings/new-call-fd", test_new_call_fd);
    g_test_add_func("/vhost-user/rings/reset-device", test_reset_device);
    g_test_add_func("/vhost-user/rings/queries", test_queries);
    g_test_add_func("/vhost-user/memory/hotplug", test_hotplug);
    g_test_add_func("/vhost-user/memory/dirty-log", test_dirty_log);
    g_test_add_func("/vhost-user/memory/log-taken-back", test_log_taken_back);
    g_test_add_data_func("/vhost-user/end/close", GINT_TO_POINTER(0), test_end);
    g_test_add_data_func("/vhost-user/end/sigterm", GINT_TO_POINTER(SIGTERM),
                         test_end);
    g_test_add_data_func("/vhost-user/end/sigint", GINT_TO_POINTER(SIGINT),
                         test_end);
    add_vhost_user_hostile_tests();
    add_vhost_user_scarce_tests();
    add_vhost_user_lock_tests();
    add_vhost_user_ring_tests();
    return g_test_run();
}
