/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user_ring_tests - invalid rings and messages.
 *
 * The queue breaks or the message is refused, and the daemon continues to
 * serve. (vhost_user_hostile_tests does the same with FUSE requests.) Also: a
 * driver is asked for kicks again when its ring continues.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/virtiofs/fuse_client.h"
#include "tests/virtiofs/vhost_user_tests.h"
#include "virtiofs/vhost/vu_message.h"

/* ---- rings --------------------------------------------------------------- */

/* Return the guest's address of a queue's request memory. */
static uint64_t arena(const struct client *client)
{
    return client->queues[FUSE_QUEUE].arena;
}

static struct vring_desc *desc(struct client *client, unsigned i)
{
    return &client->queues[FUSE_QUEUE].ring.desc[i];
}

static void break_loop(struct client *client)
{
    *desc(client, 0) = (struct vring_desc){ arena(client), 40,
                                            VRING_DESC_F_NEXT, 1 };
    *desc(client, 1) = (struct vring_desc){ arena(client), 40,
                                            VRING_DESC_F_NEXT, 0 };
    client_kick(client, FUSE_QUEUE, 0);
}

static void break_outside(struct client *client)
{
    *desc(client, 0) = (struct vring_desc){ 1ull << 40, 40, 0, 0 };
    client_kick(client, FUSE_QUEUE, 0);
}

static void break_end_of_memory(struct client *client)
{
    *desc(client, 0) = (struct vring_desc){ CLIENT_MEMORY - 10, 40, 0, 0 };
    client_kick(client, FUSE_QUEUE, 0);
}

static void break_wrapping(struct client *client)
{
    *desc(client, 0) = (struct vring_desc){ UINT64_MAX - 10, UINT32_MAX, 0, 0 };
    client_kick(client, FUSE_QUEUE, 0);
}

static void break_head(struct client *client)
{
    client_kick(client, FUSE_QUEUE, CLIENT_QUEUE_SIZE);
}

static void break_next(struct client *client)
{
    *desc(client, 0) = (struct vring_desc){ arena(client), 40,
                                            VRING_DESC_F_NEXT, UINT16_MAX };
    client_kick(client, FUSE_QUEUE, 0);
}

static void break_order(struct client *client)
{
    *desc(client,
          0) = (struct vring_desc){ arena(client), 40,
                                    VRING_DESC_F_NEXT | VRING_DESC_F_WRITE, 1 };
    *desc(client, 1) = (struct vring_desc){ arena(client), 40, 0, 0 };
    client_kick(client, FUSE_QUEUE, 0);
}

static void break_index(struct client *client)
{
    client->queues[FUSE_QUEUE].avail_idx += CLIENT_QUEUE_SIZE + 5;
    client_kick(client, FUSE_QUEUE, 0);
}

static void indirect(struct client *client, uint64_t address, uint32_t len,
                     uint16_t flags)
{
    *desc(client, 0) = (struct vring_desc){
        address, len, (uint16_t)(VRING_DESC_F_INDIRECT | flags), 1
    };
    client_kick(client, FUSE_QUEUE, 0);
}

static void break_indirect_length(struct client *client)
{
    indirect(client, arena(client), 17, 0);
}

static void break_indirect_outside(struct client *client)
{
    indirect(client, CLIENT_MEMORY - 16, 32, 0);
}

static void break_indirect_next(struct client *client)
{
    indirect(client, arena(client), 16, VRING_DESC_F_NEXT);
}

static void break_indirect_huge(struct client *client)
{
    indirect(client, 0, UINT32_MAX & ~15u, 0);
}

static void break_indirect_nested(struct client *client)
{
    struct vring_desc *table = (struct vring_desc *)(client->memory +
                                                     arena(client));

    *table = (struct vring_desc){ arena(client), 16, VRING_DESC_F_INDIRECT, 0 };
    indirect(client, arena(client), 16, 0);
}

static void break_indirect_loop(struct client *client)
{
    struct vring_desc *table = (struct vring_desc *)(client->memory +
                                                     arena(client));

    *table = (struct vring_desc){ arena(client) + 4096, 40, VRING_DESC_F_NEXT,
                                  0 };
    indirect(client, arena(client), 16, 0);
}

static const struct {
    const char *name;
    void (*run)(struct client *client);
} breaks[] = {
    { "loop", break_loop },
    { "outside", break_outside },
    { "end-of-memory", break_end_of_memory },
    { "wrapping", break_wrapping },
    { "head", break_head },
    { "next", break_next },
    { "order", break_order },
    { "index", break_index },
    { "indirect-length", break_indirect_length },
    { "indirect-outside", break_indirect_outside },
    { "indirect-next", break_indirect_next },
    { "indirect-huge", break_indirect_huge },
    { "indirect-nested", break_indirect_nested },
    { "indirect-loop", break_indirect_loop },
};

/* The queue breaks, the other one works, and after a new setup it works too. */
static void test_break(gconstpointer data)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_statfs_out statfs;
    struct fuse_attr attr;

    breaks[GPOINTER_TO_UINT(data)].run(client);
    client_expect_broken(client, FUSE_QUEUE);
    client_expect_alive(client);
    g_assert_cmpint(fuse_client_call(client, 2, FUSE_STATFS, ROOT, NULL, 0,
                                     sizeof(statfs), NULL, NULL),
                    ==, 0);
    client_stop_queue(client, FUSE_QUEUE);
    client_start_queue(client, FUSE_QUEUE);
    g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, 0);
    client_free(client);
}

/* ---- messages ------------------------------------------------------------ */

static void refuse_ring(struct client *client, uint32_t request, uint32_t index,
                        uint32_t value)
{
    uint32_t payload[2] = { index, value };

    g_assert_false(
        client_tell(client, request, payload, sizeof(payload), NULL, 0));
}

static void test_messages(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct vhost_ring_addresses addresses = { .index = 1, .desc = 12345 };
    uint64_t number = 1ull << 60;
    uint32_t table[2] = { UINT32_MAX, 0 };
    struct fuse_attr attr;

    refuse_ring(client, VU_SET_VRING_NUM, VHOST_RINGS_MAX, 16);
    refuse_ring(client, VU_SET_VRING_NUM, 3, 0);
    refuse_ring(client, VU_SET_VRING_NUM, 3, 100);
    refuse_ring(client, VU_SET_VRING_NUM, 3, 1 << 20);
    refuse_ring(client, VU_SET_VRING_BASE, 3, 1 << 16);
    refuse_ring(client, VU_SET_VRING_ENABLE, UINT32_MAX, 1);
    refuse_ring(client, 99, 0, 0);
    refuse_ring(client, 7, 0, 0);
    g_assert_false(client_tell(client, VU_SET_FEATURES, &number, 8, NULL, 0));
    g_assert_false(client_tell(client, VU_SET_FEATURES, &number, 4, NULL, 0));
    g_assert_false(
        client_tell(client, VU_SET_PROTOCOL_FEATURES, &number, 8, NULL, 0));
    g_assert_false(
        client_tell(client, VU_SET_MEM_TABLE, table, sizeof(table), NULL, 0));
    g_assert_false(
        client_tell(client, VU_SET_VRING_ADDR, &addresses, 12, NULL, 0));
    number = 1; /* the fd for it is missing */
    g_assert_false(client_tell(client, VU_SET_VRING_KICK, &number, 8, NULL, 0));
    g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, 0);
    client_free(client);
}

static void refuse_region(struct client *client, uint64_t guest, uint64_t size,
                          uint64_t user, uint64_t offset)
{
    struct {
        uint64_t padding;
        struct guest_region region;
    } slot = { .region = { guest, size, user, offset } };

    g_assert_false(client_tell(client, VU_ADD_MEM_REG, &slot, sizeof(slot),
                               &client->memory_fd, 1));
}

static void test_regions(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct fuse_attr attr;

    refuse_region(client, 0, 4096, 0, 0);                   /* overlaps */
    refuse_region(client, 1ull << 32, 0, 0, 0);             /* empty */
    refuse_region(client, UINT64_MAX - 10, 4096, 0, 0);     /* wraps */
    refuse_region(client, 1ull << 32, 4096, UINT64_MAX, 0); /* wraps */
    refuse_region(client, 1ull << 32, 1ull << 40, 0, 0); /* beyond the file */
    refuse_region(client, 1ull << 32, 4096, 0, CLIENT_MEMORY);
    refuse_region(client, 1ull << 32, 4096, 0, UINT64_MAX - 100);
    g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, 0);
    client_free(client);
}

/* A meaningless stream ends the daemon, with an error. */
static void test_broken_stream(void)
{
    struct client *client = client_spawn(NULL);
    uint32_t head[3] = { VU_GET_FEATURES, VU_VERSION, 1u << 30 };

    g_assert_cmpint(write(client->socket, head, sizeof(head)), ==,
                    sizeof(head));
    g_assert_cmpint(client_wait_exit(client), ==, 1);
    client_free(client);
}

/* ---- kicks --------------------------------------------------------------- */

/* Return the place where the device says whether it needs kicks, and its value
 * if it does, at the request with this number. */
static uint16_t *kick_wish(struct client_queue *q, uint64_t want)
{
    return want & CLIENT_EVENT_IDX ? (uint16_t *)&vring_avail_event(&q->ring)
                                   : &q->ring.used->flags;
}

/* A ring continues where it was, as after a pause, with what another back-end
 * may have left there: that it is busy. */
static void go_on(struct client *client, uint32_t base, uint16_t *wish,
                  uint16_t busy)
{
    struct client_queue *q = &client->queues[FUSE_QUEUE];
    uint32_t ring[2] = { FUSE_QUEUE, base }, enable[2] = { FUSE_QUEUE, 1 };
    uint64_t index = FUSE_QUEUE;

    __atomic_store_n(wish, busy, __ATOMIC_SEQ_CST);
    g_assert_true(
        client_tell(client, VU_SET_VRING_BASE, ring, sizeof(ring), NULL, 0));
    g_assert_true(client_tell(client, VU_SET_VRING_KICK, &index, sizeof(index),
                              &q->kick, 1));
    g_assert_true(client_tell(client, VU_SET_VRING_CALL, &index, sizeof(index),
                              &q->call, 1));
    g_assert_true(client_tell(client, VU_SET_VRING_ENABLE, enable,
                              sizeof(enable), NULL, 0));
}

static void test_kicks(gconstpointer data)
{
    uint64_t want = GPOINTER_TO_SIZE(data);
    struct client *client = fuse_client_new(want, NULL);
    struct client_queue *q = &client->queues[FUSE_QUEUE];
    struct fuse_attr attr;
    uint16_t *wish = kick_wish(q, want), quiet, base;

    for (int i = 0; i < 3; i++)
        g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, 0);
    base = (uint16_t)client_stop_queue(client, FUSE_QUEUE);
    quiet = want & CLIENT_EVENT_IDX ? base : 0;
    go_on(client, base, wish,
          want & CLIENT_EVENT_IDX ? (uint16_t)(base + 100)
                                  : VRING_USED_F_NO_NOTIFY);
    for (int i = 0; __atomic_load_n(wish, __ATOMIC_SEQ_CST) != quiet; i++) {
        g_assert_cmpint(i, <, 10000);
        g_usleep(1000);
    }
    g_assert_cmpint(fuse_client_getattr(client, ROOT, &attr), ==, 0);
    client_free(client);
}

void add_vhost_user_ring_tests(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(breaks); i++) {
        g_autofree char *path = g_strdup_printf("/vhost-user/hostile/ring/%s",
                                                breaks[i].name);

        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_break);
    }
    g_test_add_func("/vhost-user/hostile/messages", test_messages);
    g_test_add_func("/vhost-user/hostile/regions", test_regions);
    g_test_add_func("/vhost-user/hostile/broken-stream", test_broken_stream);
    g_test_add_data_func("/vhost-user/kicks/plain", (gpointer)0, test_kicks);
    g_test_add_data_func("/vhost-user/kicks/event-idx",
                         (gpointer)CLIENT_EVENT_IDX, test_kicks);
}
