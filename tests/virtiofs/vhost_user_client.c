/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user_client - see vhost_user_client.h.
 */
#include "tests/virtiofs/vhost_user_client.h"

#include <errno.h>
#include <linux/virtio_config.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "virtiofs/vhost/vu_message.h"

#define TIMEOUT_MS 10000
#define HALF       (CLIENT_MEMORY / 2)
#define RINGS_SIZE (64u << 10)

/* ---- messages ------------------------------------------------------------ */

static void send_message(struct client *client, uint32_t request,
                         uint32_t flags, const void *payload, uint32_t size,
                         const int *fds, unsigned n_fds)
{
    uint32_t head[3] = { request, VU_VERSION | flags, size };
    char control[CMSG_SPACE(VU_MAX_FDS * sizeof(int))] = { 0 };
    struct iovec iov[2] = { { head, sizeof(head) }, { (void *)payload, size } };
    struct msghdr message = { .msg_iov = iov, .msg_iovlen = size ? 2 : 1 };

    if (n_fds > 0) {
        struct cmsghdr *c;

        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
    }
    g_assert_cmpint(sendmsg(client->socket, &message, MSG_NOSIGNAL), ==,
                    sizeof(head) + size);
}

void client_send(struct client *client, uint32_t request, const void *payload,
                 uint32_t size, const int *fds, unsigned n_fds)
{
    send_message(client, request, 0, payload, size, fds, n_fds);
}

static void receive(struct client *client, void *buffer, size_t size)
{
    struct pollfd p = { .fd = client->socket, .events = POLLIN };

    g_assert_cmpint(poll(&p, 1, TIMEOUT_MS), ==, 1);
    g_assert_cmpint(recv(client->socket, buffer, size, MSG_WAITALL), ==, size);
}

static void receive_reply(struct client *client, uint32_t request, void *reply,
                          uint32_t size)
{
    uint32_t head[3];

    receive(client, head, sizeof(head));
    g_assert_cmpuint(head[0], ==, request);
    g_assert_cmpuint(head[1], ==, VU_VERSION | VU_REPLY);
    g_assert_cmpuint(head[2], ==, size);
    receive(client, reply, size);
}

void client_ask(struct client *client, uint32_t request, const void *payload,
                uint32_t payload_size, void *reply, uint32_t size)
{
    send_message(client, request, 0, payload, payload_size, NULL, 0);
    receive_reply(client, request, reply, size);
}

bool client_tell(struct client *client, uint32_t request, const void *payload,
                 uint32_t size, const int *fds, unsigned n_fds)
{
    uint64_t result = 1;

    send_message(client, request, VU_NEED_REPLY, payload, size, fds, n_fds);
    receive_reply(client, request, &result, sizeof(result));
    return result == 0;
}

static void tell_ring(struct client *client, uint32_t request, uint32_t index,
                      uint32_t value)
{
    uint32_t payload[2] = { index, value };

    g_assert_true(
        client_tell(client, request, payload, sizeof(payload), NULL, 0));
}

static void tell_ring_fd(struct client *client, uint32_t request,
                         uint32_t index, int fd)
{
    uint64_t payload = index;

    g_assert_true(
        client_tell(client, request, &payload, sizeof(payload), &fd, 1));
}

/* ---- set-up -------------------------------------------------------------- */

static void negotiate(struct client *client, uint64_t want)
{
    uint64_t offered = 0, protocol = 0;

    client_ask(client, VU_GET_FEATURES, NULL, 0, &offered, sizeof(offered));
    client->features = want | 1ull << VIRTIO_F_VERSION_1 |
                       VU_F_PROTOCOL_FEATURES;
    g_assert_cmphex(client->features & ~offered, ==, 0);
    client_ask(client, VU_GET_PROTOCOL_FEATURES, NULL, 0, &protocol,
               sizeof(protocol));
    g_assert_cmphex(protocol & (1ull << 9), ==, 0); /* no CONFIG */
    client->protocol_features = protocol;
    client_send(client, VU_SET_PROTOCOL_FEATURES, &protocol, sizeof(protocol),
                NULL, 0);
    g_assert_true(client_tell(client, VU_SET_OWNER, NULL, 0, NULL, 0));
    g_assert_true(
        client_tell(client, VU_SET_FEATURES, &client->features, 8, NULL, 0));
}

static void share_memory(struct client *client)
{
    struct {
        uint32_t n, padding;
        struct guest_region regions[2];
    } table = { .n = 2 };
    int fds[2];

    client->memory_fd = memfd_create("client", MFD_CLOEXEC);
    g_assert_cmpint(ftruncate(client->memory_fd, CLIENT_MEMORY), ==, 0);
    client->memory = mmap(NULL, CLIENT_MEMORY, PROT_READ | PROT_WRITE,
                          MAP_SHARED, client->memory_fd, 0);
    g_assert_true(client->memory != MAP_FAILED);
    for (unsigned i = 0; i < 2; i++) {
        table.regions[i] = (struct guest_region){
            .guest_address = i * HALF,
            .size = HALF,
            .user_address = (uintptr_t)client->memory + i * HALF,
            .mmap_offset = i * HALF,
        };
        fds[i] = client->memory_fd;
    }
    g_assert_true(
        client_tell(client, VU_SET_MEM_TABLE, &table, sizeof(table), fds, 2));
}

/* The rings are at the start of memory; then each queue's arena, of which the
 * second crosses the border of the regions. */
static void place_queue(struct client *client, unsigned index)
{
    struct client_queue *q = &client->queues[index];

    q->index = index;
    q->arena_size = 4u << 20;
    q->arena = (1u << 20) + index * (5u << 20);
    vring_init(&q->ring, CLIENT_QUEUE_SIZE, client->memory + index * RINGS_SIZE,
               4096);
    q->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    q->call = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    q->err = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void client_start_queue(struct client *client, unsigned index)
{
    struct client_queue *q = &client->queues[index];
    struct vhost_ring_addresses addresses = {
        .index = index,
        .desc = (uintptr_t)q->ring.desc,
        .used = (uintptr_t)q->ring.used,
        .avail = (uintptr_t)q->ring.avail,
        .flags = client->features & CLIENT_LOG_ALL ? 1 : 0,
        .used_log = (uint64_t)((uint8_t *)q->ring.used - client->memory),
    };

    memset(client->memory + index * RINGS_SIZE, 0, RINGS_SIZE);
    q->avail_idx = q->used_seen = 0;
    tell_ring(client, VU_SET_VRING_NUM, index, CLIENT_QUEUE_SIZE);
    tell_ring(client, VU_SET_VRING_BASE, index, 0);
    g_assert_true(client_tell(client, VU_SET_VRING_ADDR, &addresses,
                              sizeof(addresses), NULL, 0));
    tell_ring_fd(client, VU_SET_VRING_KICK, index, q->kick);
    tell_ring_fd(client, VU_SET_VRING_CALL, index, q->call);
    tell_ring_fd(client, VU_SET_VRING_ERR, index, q->err);
    tell_ring(client, VU_SET_VRING_ENABLE, index, 1);
}

uint32_t client_stop_queue(struct client *client, unsigned index)
{
    uint32_t payload[2] = { index, 0 }, reply[2] = { 0 };

    client_ask(client, VU_GET_VRING_BASE, payload, sizeof(payload), reply,
               sizeof(reply));
    g_assert_cmpuint(reply[0], ==, index);
    return reply[1];
}

void client_start(struct client *client, uint64_t want)
{
    negotiate(client, want);
    share_memory(client);
    for (unsigned i = 0; i < CLIENT_QUEUES; i++) {
        place_queue(client, i);
        client_start_queue(client, i);
    }
}

struct client *client_new(uint64_t want, const char *const *arguments)
{
    struct client *client = client_spawn(arguments);

    client_start(client, want);
    return client;
}

/* ---- requests ------------------------------------------------------------ */

/* A table for descriptors: the queue's own, or an indirect one. */
struct chain {
    struct vring_desc *table;
    unsigned used;
    uint32_t piece;
};

static void add_buffer(struct chain *chain, uint32_t address, uint32_t len,
                       uint16_t flags)
{
    while (len > 0) {
        uint32_t n = chain->piece ? MIN(len, chain->piece) : len;
        struct vring_desc *desc = &chain->table[chain->used];

        g_assert_cmpuint(chain->used, <, CLIENT_QUEUE_SIZE);
        if (chain->used > 0) {
            desc[-1].flags |= VRING_DESC_F_NEXT;
            desc[-1].next = (uint16_t)chain->used;
        }
        *desc = (struct vring_desc){ address, n, flags, 0 };
        chain->used++;
        address += n;
        len -= n;
    }
}

/* The place of the reply, after 1.25 MiB for the request and its table. */
static uint32_t reply_at(const struct client_queue *q)
{
    return q->arena + (5u << 18);
}

void client_submit(struct client *client, unsigned queue,
                   const struct iovec *in, unsigned n_in, uint32_t out_size)
{
    struct client_queue *q = &client->queues[queue];
    bool indirect = client->features & CLIENT_INDIRECT;
    uint32_t at = q->arena;
    struct chain chain = { .table = q->ring.desc, .piece = client->piece };

    if (indirect) {
        chain.table = (struct vring_desc *)(client->memory + at);
        at += CLIENT_QUEUE_SIZE * sizeof(struct vring_desc);
    }
    for (unsigned i = 0; i < n_in; i++) {
        memcpy(client->memory + at, in[i].iov_base, in[i].iov_len);
        add_buffer(&chain, at, (uint32_t)in[i].iov_len, 0);
        at += (uint32_t)in[i].iov_len;
    }
    g_assert_cmpuint(at, <=, reply_at(q));
    add_buffer(&chain, reply_at(q), out_size, VRING_DESC_F_WRITE);
    if (indirect)
        q->ring.desc[0] = (struct vring_desc){
            q->arena, chain.used * (uint32_t)sizeof(struct vring_desc),
            VRING_DESC_F_INDIRECT, 0
        };
    client_kick(client, queue, 0);
}

void client_kick(struct client *client, unsigned queue, uint16_t head)
{
    struct client_queue *q = &client->queues[queue];
    uint64_t one = 1;
    bool kick;

    q->ring.avail->ring[q->avail_idx++ % CLIENT_QUEUE_SIZE] = head;
    __atomic_store_n(&q->ring.avail->idx, q->avail_idx, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (client->features & CLIENT_EVENT_IDX)
        kick = vring_need_event(vring_avail_event(&q->ring), q->avail_idx,
                                (uint16_t)(q->avail_idx - 1));
    else
        kick = !(q->ring.used->flags & VRING_USED_F_NO_NOTIFY);
    if (kick)
        g_assert_cmpint(write(q->kick, &one, sizeof(one)), ==, sizeof(one));
}

static bool has_used(struct client_queue *q)
{
    return __atomic_load_n(&q->ring.used->idx, __ATOMIC_ACQUIRE) !=
           q->used_seen;
}

const void *client_reap(struct client *client, unsigned queue,
                        uint32_t *ret_len)
{
    struct client_queue *q = &client->queues[queue];
    uint64_t count;

    vring_used_event(&q->ring) = q->used_seen;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    while (!has_used(q)) {
        struct pollfd p = { .fd = q->call, .events = POLLIN };

        g_assert_cmpint(poll(&p, 1, TIMEOUT_MS), ==, 1);
        g_assert_cmpint(read(q->call, &count, sizeof(count)), ==,
                        sizeof(count));
    }
    *ret_len = q->ring.used->ring[q->used_seen % CLIENT_QUEUE_SIZE].len;
    q->used_seen++;
    return client->memory + reply_at(q);
}

void client_expect_silence(struct client *client, unsigned queue,
                           int timeout_ms)
{
    g_usleep((gulong)timeout_ms * 1000);
    g_assert_false(has_used(&client->queues[queue]));
}

void client_expect_broken(struct client *client, unsigned queue)
{
    struct pollfd p = { .fd = client->queues[queue].err, .events = POLLIN };
    uint64_t count;

    g_assert_cmpint(poll(&p, 1, TIMEOUT_MS), ==, 1);
    g_assert_cmpint(read(p.fd, &count, sizeof(count)), ==, sizeof(count));
    g_assert_false(has_used(&client->queues[queue]));
}

void client_expect_alive(struct client *client)
{
    uint64_t features = 0;
    int status;

    g_assert_cmpint(waitpid(client->pid, &status, WNOHANG), ==, 0);
    client_ask(client, VU_GET_FEATURES, NULL, 0, &features, sizeof(features));
    g_assert_cmphex(features, !=, 0);
}
