/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost-user-pool-test - long requests, and others on their queue.
 *
 * Meanwhile there are other requests, a stop, a reset, and the guest's end.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/virtiofs/parked_guest.h"
#include "tests/virtiofs/stall.h"
#include "virtiofs/vhost/queue_pool.h"
#include "virtiofs/vhost/vu_message.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

enum { A_WHILE_US = 200000 };

/* ---- requests ------------------------------------------------------------ */

static uint64_t node, fh; /* an open file of the guest */

static struct guest *start(const char *pool_option)
{
    const char *const arguments[] = { pool_option, NULL };
    struct guest *g = guest_new_with(arguments);

    OK(fuse_client_create(g->client, FUSE_ROOT_ID, "file", O_RDWR, &node, &fh));
    return g;
}

static void put_fsync(struct guest *g)
{
    struct fuse_fsync_in in = { .fh = fh };
    struct iovec arg = { &in, sizeof(in) };

    guest_put(g, FUSE_FSYNC, node, &arg, 1);
}

static void put_getattr(struct guest *g)
{
    struct fuse_getattr_in in = { 0 };
    struct iovec arg = { &in, sizeof(in) };

    guest_put(g, FUSE_GETATTR, FUSE_ROOT_ID, &arg, 1);
}

static void put_release(struct guest *g)
{
    struct fuse_release_in in = { .fh = fh };
    struct iovec arg = { &in, sizeof(in) };

    guest_put(g, FUSE_RELEASE, node, &arg, 1);
}

static void put_forget(struct guest *g)
{
    struct fuse_forget_in in = { .nlookup = 1 };
    struct iovec arg = { &in, sizeof(in) };

    guest_put(g, FUSE_FORGET, node, &arg, 1);
}

static void put_sync_write(struct guest *g, unsigned n)
{
    struct fuse_write_in in = {
        .fh = fh, .size = sizeof(n), .offset = n * sizeof(n), .flags = O_SYNC
    };
    struct iovec args[2] = { { &in, sizeof(in) }, { &n, sizeof(n) } };

    guest_put(g, FUSE_WRITE, node, args, 2);
}

/* in_work requests are running; the others wait, as far as the pool has room.
 */
static void put_stalled(struct guest *g, unsigned in_work, unsigned all)
{
    stall_begin();
    for (unsigned i = 0; i < all; i++)
        put_fsync(g);
    guest_kick(g);
    stall_wait(in_work);
}

static void expect_answer(struct guest *g, unsigned n, unsigned request)
{
    int error;

    g_assert_cmpuint(guest_answer(g, n, &error), ==, request);
    g_assert_cmpint(error, ==, 0);
}

static gpointer end_stall_soon(gpointer data)
{
    g_usleep(A_WHILE_US);
    stall_end();
    return NULL;
}

/* ---- other requests ------------------------------------------------------ */

static void put_read(struct guest *g)
{
    struct fuse_read_in in = { .fh = fh, .size = 100 };
    struct iovec arg = { &in, sizeof(in) };

    guest_put(g, FUSE_READ, node, &arg, 1);
}

static void put_write(struct guest *g)
{
    put_sync_write(g, 0);
}

/* The file is large on the host only, as if another process had written it. */
static void make_large(struct guest *g)
{
    g_autofree char *path = g_build_filename(g->client->share, "file", NULL);

    OK(truncate(path, 4 << 20));
}

static void put_cut(struct guest *g)
{
    struct fuse_setattr_in in = { .valid = FATTR_SIZE | FATTR_FH, .fh = fh };
    struct iovec arg = { &in, sizeof(in) };

    make_large(g);
    guest_put(g, FUSE_SETATTR, node, &arg, 1);
}

static void put_open(struct guest *g)
{
    struct fuse_open_in in = { .flags = O_RDWR | O_TRUNC,
                               .open_flags = FUSE_OPEN_KILL_SUIDGID };
    struct iovec arg = { &in, sizeof(in) };

    make_large(g);
    guest_put(g, FUSE_OPEN, node, &arg, 1);
}

static const struct {
    const char *name;
    void (*put)(struct guest *g);
} long_requests[] = {
    { "cut", put_cut },   { "open", put_open },   { "fsync", put_fsync },
    { "read", put_read }, { "write", put_write },
};

static void test_overtaken(gconstpointer data)
{
    struct guest *g = start("--thread-pool-size=1");

    stall_begin();
    long_requests[GPOINTER_TO_UINT(data)].put(g);
    guest_kick(g);
    stall_wait(1);
    put_getattr(g);
    guest_kick(g);
    guest_wait_answered(g, 1);
    expect_answer(g, 0, 1);
    stall_end();
    guest_wait_answered(g, 2);
    expect_answer(g, 1, 0);
    guest_free(g);
}

/* Without a pool each request waits for the one before it. */
static void test_no_pool(void)
{
    struct guest *g = start("--thread-pool-size=0");

    put_stalled(g, 1, 1);
    put_getattr(g);
    guest_kick(g);
    g_usleep(A_WHILE_US);
    g_assert_cmpuint(guest_answered(g), ==, 0);
    stall_end();
    guest_wait_answered(g, 2);
    expect_answer(g, 0, 0);
    expect_answer(g, 1, 1);
    guest_free(g);
}

static void test_bounded(void)
{
    struct guest *g = start("--thread-pool-size=2");

    put_stalled(g, 2, 9);
    put_getattr(g);
    guest_kick(g);
    guest_wait_answered(g, 1);
    expect_answer(g, 0, 9);
    g_usleep(A_WHILE_US);
    stall_wait(2);
    stall_end();
    guest_wait_answered(g, 10);
    guest_expect_answers(g, 0, 10, 0);
    guest_free(g);
}

/* More than the pool may queue: the queue's thread must do one itself. */
static void test_backlog(void)
{
    struct guest *g = start("--thread-pool-size=1");
    unsigned all = QUEUE_POOL_BACKLOG + 2;

    put_stalled(g, 2, all);
    stall_end();
    guest_wait_answered(g, all);
    guest_expect_answers(g, 0, all, 0);
    guest_free(g);
}

/* A client closes and forgets the file meanwhile, which no kernel does. */
static void test_forgotten(void)
{
    struct guest *g = start("--thread-pool-size=1");

    put_stalled(g, 1, 1);
    put_release(g);
    put_forget(g);
    put_getattr(g);
    guest_kick(g);
    guest_wait_answered(g, 3);
    stall_end();
    guest_wait_answered(g, 4);
    expect_answer(g, 3, 0);
    guest_free(g);
}

/* A change in the pool is parked, and made when it is allowed. */
static void test_parked(void)
{
    struct guest *g = start("--thread-pool-size=2");
    unsigned count = 20;
    struct stat st;

    guest_hold(g);
    for (unsigned n = 0; n < count; n++)
        put_sync_write(g, n);
    guest_kick(g);
    guest_read_on(g);
    g_usleep(A_WHILE_US);
    g_assert_cmpuint(guest_answered(g), ==, 0);
    guest_confirm(g, "allow");
    guest_wait_answered(g, count + 1);
    guest_expect_answers(g, 0, count + 1, 0);
    guest_close_step(g, false);
    {
        g_autofree char *path = g_build_filename(g->client->share, "file",
                                                 NULL);

        OK(stat(path, &st));
        g_assert_cmpint(st.st_size, ==, count * sizeof(unsigned));
    }
    guest_free(g);
}

/* Many of all kinds: each gets one reply. */
static void test_storm(void)
{
    struct guest *g = start("--thread-pool-size=4");
    g_autofree bool *seen = g_new0(bool, 6000);
    int error;

    for (unsigned i = 0; i < 6000; i++) {
        if (i % 3 == 0)
            put_getattr(g);
        else if (i % 3 == 1)
            put_fsync(g);
        else
            put_sync_write(g, i);
        if (i % 50 == 49)
            guest_kick(g);
    }
    guest_wait_answered(g, 6000);
    for (unsigned n = 0; n < 6000; n++) {
        unsigned i = guest_answer(g, n, &error);

        g_assert_cmpint(error, ==, 0);
        g_assert_false(seen[i]);
        seen[i] = true;
    }
    guest_free(g);
}

/* ---- the queue's end ----------------------------------------------------- */

/* A queue stops when all that it read is done. */
static void test_stop(void)
{
    struct guest *g = start("--thread-pool-size=1");
    GThread *thread;
    uint32_t base;

    put_stalled(g, 1, 3);
    thread = g_thread_new("end", end_stall_soon, NULL);
    base = guest_stop_queue(g);
    g_assert_cmpuint(base, ==, 3);
    g_assert_cmpuint(guest_answered(g), ==, 3);
    guest_expect_answers(g, 0, 3, 0);
    g_thread_join(thread);
    guest_start_queue(g, base);
    put_fsync(g);
    put_getattr(g);
    guest_kick(g);
    guest_wait_answered(g, 5);
    guest_expect_answers(g, 3, 5, 0);
    guest_free(g);
}

/* Requests not started when the queue was disabled, or its memory was unshared,
 * run when it is back. */
static void check_pause(struct guest *g, void (*pause)(struct guest *g),
                        void (*go_on)(struct guest *g))
{
    GThread *thread;

    put_stalled(g, 1, 5);
    thread = g_thread_new("end", end_stall_soon, NULL);
    pause(g);
    g_thread_join(thread);
    g_usleep(A_WHILE_US);
    g_assert_cmpuint(guest_answered(g), ==, 1);
    guest_read_on(g);
    go_on(g);
    put_getattr(g);
    guest_kick(g);
    guest_wait_answered(g, 6);
    guest_expect_answers(g, 0, 6, 0);
    guest_free(g);
}

static void disable(struct guest *g)
{
    guest_enable_queue(g, false);
}

static void enable(struct guest *g)
{
    guest_enable_queue(g, true);
}

static void test_disabled(void)
{
    check_pause(start("--thread-pool-size=1"), disable, enable);
}

static void test_memory(void)
{
    check_pause(start("--thread-pool-size=1"), guest_unshare_memory,
                guest_share_memory);
}

static void test_reset(void)
{
    struct guest *g = start("--thread-pool-size=1");
    struct fuse_attr attr;
    GThread *thread;

    put_stalled(g, 1, 3);
    thread = g_thread_new("end", end_stall_soon, NULL);
    g_assert_true(client_tell(g->client, VU_RESET_DEVICE, NULL, 0, NULL, 0));
    g_assert_cmpuint(guest_answered(g), ==, 3);
    g_thread_join(thread);
    client_start_queue(g->client, FUSE_QUEUE);
    g_assert_cmpint(fuse_client_getattr(g->client, FUSE_ROOT_ID, &attr), ==,
                    -EIO);
    fuse_client_init(g->client);
    OK(fuse_client_getattr(g->client, FUSE_ROOT_ID, &attr));
    guest_free(g);
}

/* The front-end dies: the exit does not wait for what was not started. */
static void test_killed(void)
{
    struct guest *g = start("--thread-pool-size=1");

    put_stalled(g, 1, 100);
    close(g->client->socket);
    g->client->socket = -1;
    g_usleep(A_WHILE_US);
    stall_end();
    OK(client_wait_exit(g->client));
    g_assert_cmpuint(stall_count(), <, 50);
    guest_free(g);
}

int main(int argc, char **argv)
{
    umask(0);
    g_test_init(&argc, &argv, NULL);
    stall_install();
    for (guint i = 0; i < G_N_ELEMENTS(long_requests); i++) {
        g_autofree char *path = g_strdup_printf("/vhost-user/pool/overtaken/%s",
                                                long_requests[i].name);

        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_overtaken);
    }
    g_test_add_func("/vhost-user/pool/no-pool", test_no_pool);
    g_test_add_func("/vhost-user/pool/bounded", test_bounded);
    g_test_add_func("/vhost-user/pool/backlog", test_backlog);
    g_test_add_func("/vhost-user/pool/forgotten", test_forgotten);
    g_test_add_func("/vhost-user/pool/parked", test_parked);
    g_test_add_func("/vhost-user/pool/storm", test_storm);
    g_test_add_func("/vhost-user/pool/stop", test_stop);
    g_test_add_func("/vhost-user/pool/disabled", test_disabled);
    g_test_add_func("/vhost-user/pool/memory", test_memory);
    g_test_add_func("/vhost-user/pool/reset", test_reset);
    g_test_add_func("/vhost-user/pool/killed", test_killed);
    return g_test_run();
}
