/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user_scarce_tests - limits, memory and eventfds that a daemon loses.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/virtiofs/fuse_client.h"
#include "tests/virtiofs/vhost_user_tests.h"
#include "virtiofs/vhost/vu_message.h"

/* A write beyond the host's limit of file size. */
static void test_file_size(void)
{
    struct rlimit before, limit;
    struct client *client;
    uint64_t node, fh;

    g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
    limit = before;
    limit.rlim_cur = MIN(limit.rlim_max, 8 << 20);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    client = client_spawn(NULL);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
    client_start(client, 0);
    fuse_client_init(client);
    g_assert_cmpint(fuse_client_create(client, ROOT, "f", O_RDWR, &node, &fh),
                    ==, 0);
    g_assert_cmpint(fuse_client_write(client, fh, 1 << 30, "x", 1, 0), ==,
                    -EFBIG);
    client_expect_alive(client);
    client_free(client);
}

static int wait_for(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, 10000);
}

/* Kick without looking at the ring; the daemon must exit. */
static void expect_end(struct client *client, unsigned queue)
{
    static const uint64_t one = 1;

    g_assert_cmpint(write(client->queues[queue].kick, &one, sizeof(one)), ==,
                    sizeof(one));
    g_assert_cmpint(wait_for(client->queues[queue].err), ==, 1);
}

/* Shared memory is truncated: its rings end, nothing else does. This side must
 * not access it either. To the daemon it reads as zeros, which would be valid
 * for the second ring, not used yet. */
static void test_memory_taken_back(void)
{
    struct client *client = fuse_client_new(0, NULL);

    g_assert_cmpint(ftruncate(client->memory_fd, 0), ==, 0);
    expect_end(client, FUSE_QUEUE);
    expect_end(client, 2);
    client_expect_alive(client);
    client_free(client);
}

/* The eventfd for signals is full: replies arrive nevertheless. */
static void test_full_call(void)
{
    struct client *client = fuse_client_new(0, NULL);
    struct client_queue *q = &client->queues[FUSE_QUEUE];
    uint64_t payload = FUSE_QUEUE;
    struct fuse_getattr_in in = { 0 };
    struct fuse_in_header head = { .len = sizeof(head) + sizeof(in),
                                   .opcode = FUSE_GETATTR,
                                   .unique = 100,
                                   .nodeid = ROOT };
    struct iovec pieces[] = { PIECE(head), PIECE(in) };
    static char junk[4096];
    int ends[2];

    g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
    g_assert_cmpint(fcntl(ends[1], F_SETPIPE_SZ, sizeof(junk)), ==,
                    sizeof(junk));
    g_assert_cmpint(write(ends[1], junk, sizeof(junk)), ==, sizeof(junk));
    g_assert_true(client_tell(client, VU_SET_VRING_CALL, &payload,
                              sizeof(payload), &ends[1], 1));
    for (uint16_t i = 1; i <= 3; i++) {
        uint16_t due = (uint16_t)(q->used_seen + 1);

        client_submit(client, FUSE_QUEUE, pieces, 2, 4096);
        for (int t = 0; t < 1000 && __atomic_load_n(&q->ring.used->idx,
                                                    __ATOMIC_ACQUIRE) != due;
             t++)
            g_usleep(10000);
        g_assert_cmpuint(__atomic_load_n(&q->ring.used->idx, __ATOMIC_ACQUIRE),
                         ==, due);
        q->used_seen = due;
    }
    close(ends[0]);
    close(ends[1]);
    client_free(client);
}

void add_vhost_user_scarce_tests(void)
{
    g_test_add_func("/vhost-user/hostile/file-size", test_file_size);
    g_test_add_func("/vhost-user/hostile/memory-taken-back",
                    test_memory_taken_back);
    g_test_add_func("/vhost-user/hostile/full-call", test_full_call);
}
