/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost-user-thread-test - each queue has a thread.
 *
 * That of the high-priority queue waits for no other, has short time slices,
 * and forgets nodes while requests are handled. Also: what remains when one
 * stops.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/virtiofs/fuse_client.h"
#include "tests/virtiofs/stall.h"
#include "virtiofs/vhost/vu_message.h"

#define OK(call) g_assert_cmpint((call), ==, 0)

enum { HIGH_QUEUE = 0, NEXT_QUEUE = 2, REPLY_SIZE = 200 };

static void get_root(struct client *client, unsigned queue)
{
    struct fuse_getattr_in in = { 0 };
    struct iovec arg = PIECE(in);

    OK(fuse_client_call(client, queue, FUSE_GETATTR, FUSE_ROOT_ID, &arg, 1,
                        sizeof(struct fuse_attr_out), NULL, NULL));
}

static unsigned other_of(unsigned queue)
{
    return queue == HIGH_QUEUE ? FUSE_QUEUE : HIGH_QUEUE;
}

/* ---- threads ------------------------------------------------------------ */

static GDir *open_threads(const struct client *client)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", client->pid);
    GDir *dir = g_dir_open(path, 0, NULL);

    g_assert_nonnull(dir);
    return dir;
}

static char *name_of(const struct client *client, const char *task)
{
    g_autofree char *file = g_strdup_printf("/proc/%d/task/%s/comm",
                                            client->pid, task);
    char *name = NULL;

    return g_file_get_contents(file, &name, NULL, NULL) ? g_strchomp(name)
                                                        : NULL;
}

/* Return the number of a thread with this name, 0 if none; and the count. */
static pid_t find_thread(struct client *client, const char *wanted,
                         unsigned *ret_n)
{
    g_autoptr(GDir) dir = open_threads(client);
    const char *task;
    pid_t found = 0;

    *ret_n = 0;
    while ((task = g_dir_read_name(dir))) {
        g_autofree char *name = name_of(client, task);

        if (g_strcmp0(name, wanted) != 0)
            continue;
        found = atoi(task);
        (*ret_n)++;
    }
    return found;
}

static unsigned count_threads(struct client *client, const char *wanted)
{
    unsigned n;

    find_thread(client, wanted, &n);
    return n;
}

/* Wait until this number of threads has the name: a new one has that of the
 * program until it runs. */
static void expect_threads(struct client *client, const char *wanted,
                           unsigned count)
{
    gint64 until = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;

    while (count_threads(client, wanted) != count &&
           g_get_monotonic_time() < until)
        g_usleep(10 * 1000);
    g_assert_cmpuint(count_threads(client, wanted), ==, count);
}

/* A busy thread can be identified: each but the first has a name that is not
 * the program's. */
static void test_names(void)
{
    g_autofree char *folder = g_dir_make_tmp("thread-test-XXXXXX", NULL);
    g_autofree char *log = g_build_filename(folder, "log", NULL);
    g_autofree char *remove = g_strdup_printf("rm -rf '%s'", folder);
    const char *const arguments[] = { "--undo-dir", log, NULL };
    struct client *client = fuse_client_new(0, arguments);
    g_autofree char *first = g_strdup_printf("%d", client->pid);
    g_autofree char *program = name_of(client, first);

    for (unsigned i = 0; i < CLIENT_QUEUES; i++)
        get_root(client, i);
    expect_threads(client, program, 1);
    expect_threads(client, "undo-timer", 1);
    expect_threads(client, "undo-watch", 1);
    client_free(client);
    g_assert_true(g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL));
}

static void test_count(void)
{
    const char *const no_pool[] = { "--thread-pool-size=0", NULL };
    struct client *client = fuse_client_new(0, no_pool);

    for (unsigned i = 0; i < CLIENT_QUEUES; i++)
        get_root(client, i);
    expect_threads(client, "queue-0", 1);
    expect_threads(client, "queue-1", 1);
    expect_threads(client, "queue-2", 1);
    client_stop_queue(client, HIGH_QUEUE);
    expect_threads(client, "queue-0", 0);
    expect_threads(client, "queue-1", 1);
    client_stop_queue(client, FUSE_QUEUE);
    expect_threads(client, "queue-1", 0);
    expect_threads(client, "queue-2", 1);
    client_free(client);
}

/* ---- turns of the processor --------------------------------------------- */

/* sched_getattr(2)'s SCHED_ATTR_SIZE_VER0. */
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static struct scheduling scheduling_of(pid_t thread)
{
    struct scheduling found = { 0 };

    OK(syscall(SYS_sched_getattr, thread, &found, sizeof(found), 0));
    return found;
}

/* The high-priority queue's slices are the shortest, and nothing else changes.
 */
static void check_turns(struct client *client, uint64_t wanted_high)
{
    struct scheduling ours = scheduling_of(0), high, requests;
    unsigned n;

    get_root(client, HIGH_QUEUE);
    get_root(client, FUSE_QUEUE);
    high = scheduling_of(find_thread(client, "queue-0", &n));
    requests = scheduling_of(find_thread(client, "queue-1", &n));
    g_assert_cmpuint(high.runtime, ==, wanted_high);
    g_assert_cmpuint(high.policy, ==, ours.policy);
    g_assert_cmpint(high.nice, ==, ours.nice);
    g_assert_cmpuint(requests.runtime, ==, ours.runtime);
    g_assert_cmpuint(requests.policy, ==, ours.policy);
    g_assert_cmpint(requests.nice, ==, ours.nice);
}

/* Of all threads of the daemon. */
static unsigned count_short_turns(struct client *client)
{
    g_autoptr(GDir) dir = open_threads(client);
    const char *task;
    unsigned n = 0;

    while ((task = g_dir_read_name(dir))) {
        if (scheduling_of(atoi(task)).runtime == 100000)
            n++;
    }
    return n;
}

/* A long request creates a pool thread, also on that queue. */
static void check_not_inherited(struct client *client)
{
    struct fuse_fsync_in in = { 0 };
    struct iovec arg = PIECE(in);
    uint64_t node;

    OK(fuse_client_create(client, FUSE_ROOT_ID, "f", O_RDWR, &node, &in.fh));
    OK(fuse_client_call(client, HIGH_QUEUE, FUSE_FSYNC, node, &arg, 1, 0, NULL,
                        NULL));
    g_assert_cmpuint(count_threads(client, "queue-0"), ==, 1);
    g_assert_cmpuint(count_threads(client, "pool-0"), ==, 1);
    g_assert_cmpuint(count_short_turns(client), ==, 1);
}

static void test_turns(void)
{
    struct client *client;

    if (scheduling_of(0).runtime == 0) {
        g_test_skip("this kernel knows no turns of a thread's own");
        return;
    }
    OK(setpriority(PRIO_PROCESS, 0, 5));
    client = fuse_client_new(0, NULL);
    check_turns(client, 100000);
    check_not_inherited(client);
    client_free(client);
    if (geteuid() == 0)
        OK(setpriority(PRIO_PROCESS, 0, 0));
}

/* The daemon was started with a different policy. */
static void test_turns_policy(void)
{
    const struct sched_param none = { 0 };
    struct client *client;

    OK(sched_setscheduler(0, SCHED_BATCH, &none));
    client = fuse_client_new(0, NULL);
    check_turns(client, scheduling_of(0).runtime);
    client_free(client);
    OK(sched_setscheduler(0, SCHED_OTHER, &none));
}

/* ---- waiting ------------------------------------------------------------- */

/* The n-th of several that wait on the queue at once. */
static void put_fsync(struct client *client, unsigned n, uint64_t node,
                      uint64_t fh)
{
    struct client_queue *q = &client->queues[FUSE_QUEUE];
    struct vring_desc *desc = &q->ring.desc[2 * n];
    struct fuse_fsync_in in = { .fh = fh };
    struct fuse_in_header head = { .opcode = FUSE_FSYNC,
                                   .unique = 1000 + 2 * n,
                                   .nodeid = node,
                                   .len = sizeof(head) + sizeof(in) };
    uint32_t at = q->arena + n * 8192;

    memcpy(client->memory + at, &head, sizeof(head));
    memcpy(client->memory + at + sizeof(head), &in, sizeof(in));
    desc[0] = (struct vring_desc){ at, head.len, VRING_DESC_F_NEXT,
                                   (uint16_t)(2 * n + 1) };
    desc[1] = (struct vring_desc){ at + 4096, REPLY_SIZE, VRING_DESC_F_WRITE,
                                   0 };
    client_kick(client, FUSE_QUEUE, (uint16_t)(2 * n));
}

/* Many wait on one queue, the first of them for the disk: the other queue
 * serves everything meanwhile, and afterwards the many are unchanged. */
static void test_unheld(gconstpointer features)
{
    const char *const no_pool[] = { "--thread-pool-size=0", NULL };
    struct client *client = fuse_client_new((uintptr_t)features, no_pool);
    uint64_t node, fh;
    uint32_t len;

    OK(fuse_client_create(client, FUSE_ROOT_ID, "f", O_RDWR, &node, &fh));
    stall_begin();
    for (unsigned i = 0; i < 10; i++)
        put_fsync(client, i, node, fh);
    stall_wait(1);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t index = i % 2 ? FUSE_QUEUE : NEXT_QUEUE;

        /* The front-end masks an interrupt. */
        get_root(client, HIGH_QUEUE);
        g_assert_true(client_tell(client, VU_SET_VRING_CALL, &index,
                                  sizeof(index), &client->queues[index].call,
                                  1));
        get_root(client, HIGH_QUEUE);
        get_root(client, NEXT_QUEUE);
    }
    client_expect_silence(client, FUSE_QUEUE, 20);
    g_assert_cmpuint(stall_count(), ==, 1);
    stall_end();
    for (unsigned i = 0; i < 10; i++)
        client_reap(client, FUSE_QUEUE, &len);
    client_free(client);
}

/* ---- when one stops ------------------------------------------------------ */

static void test_one_stops(gconstpointer data)
{
    unsigned stopped = GPOINTER_TO_UINT(data);
    unsigned other = other_of(stopped);
    struct client *client = fuse_client_new(0, NULL);

    for (int i = 0; i < 20; i++) {
        client_stop_queue(client, stopped);
        get_root(client, other);
        get_root(client, NEXT_QUEUE);
        client_start_queue(client, stopped);
        get_root(client, stopped);
        get_root(client, other);
    }
    client_stop_queue(client, stopped);
    client_stop_queue(client, other);
    get_root(client, NEXT_QUEUE);
    client_start_queue(client, other);
    get_root(client, other);
    client_start_queue(client, stopped);
    get_root(client, stopped);
    client_free(client);
}

/* An error that breaks one queue does not break the other. */
static void test_one_breaks(gconstpointer data)
{
    unsigned broken = GPOINTER_TO_UINT(data);
    unsigned other = other_of(broken);
    struct client *client = fuse_client_new(0, NULL);

    client->queues[broken].avail_idx += CLIENT_QUEUE_SIZE + 5;
    client_kick(client, broken, 0);
    client_expect_broken(client, broken);
    for (int i = 0; i < 20; i++)
        get_root(client, other);
    client_stop_queue(client, broken);
    client_start_queue(client, broken);
    get_root(client, broken);
    client_free(client);
}

/* One of them has no kick eventfd. */
static void test_one_polls(gconstpointer data)
{
    unsigned polled = GPOINTER_TO_UINT(data);
    unsigned other = other_of(polled);
    struct client *client = fuse_client_new(0, NULL);
    uint64_t no_fd = polled | VU_NO_FD;

    g_assert_true(client_tell(client, VU_SET_VRING_KICK, &no_fd, 8, NULL, 0));
    for (int i = 0; i < 20; i++) {
        get_root(client, polled);
        get_root(client, other);
    }
    client_stop_queue(client, other);
    get_root(client, polled);
    client_free(client);
}

/* ---- FORGETs beside requests --------------------------------------------- */

enum { ROUNDS = 3000 };

struct forgetter {
    struct client *client;
    GAsyncQueue *nodes; /* for each, one lookup is to be forgotten */
};

static gpointer forget_all(gpointer data)
{
    struct forgetter *forgetter = data;
    gpointer node;

    while ((node = g_async_queue_pop(forgetter->nodes)) != forgetter)
        fuse_client_forget(forgetter->client, GPOINTER_TO_SIZE(node), 1);
    return NULL;
}

static void forget_soon(struct forgetter *forgetter, uint64_t node)
{
    g_async_queue_push(forgetter->nodes, GSIZE_TO_POINTER(node));
}

/* Known by two lookups, of which one is forgotten while the node is used, and
 * the other at the end, while the next one is made. */
static void use_while_forgotten(struct forgetter *forgetter, unsigned i)
{
    struct client *client = forgetter->client;
    char name[] = "f0";
    struct fuse_entry_out again;
    struct fuse_attr attr;
    uint64_t node, fh;

    name[1] = (char)('0' + i % 7);
    OK(fuse_client_create(client, FUSE_ROOT_ID, name, O_RDWR, &node, &fh));
    OK(fuse_client_lookup(client, FUSE_ROOT_ID, name, &again));
    g_assert_cmpuint(again.nodeid, ==, node);
    forget_soon(forgetter, node);
    OK(fuse_client_getattr(client, node, &attr));
    g_assert_cmpuint(attr.ino, ==, again.attr.ino);
    OK(fuse_client_release(client, FUSE_RELEASE, node, fh));
    OK(fuse_client_getattr(client, node, &attr));
    OK(fuse_client_remove(client, FUSE_UNLINK, FUSE_ROOT_ID, name));
    OK(fuse_client_getattr(client, node, &attr));
    g_assert_cmpuint(attr.nlink, ==, 0);
    forget_soon(forgetter, node);
}

static void test_forget(gconstpointer cache)
{
    const char *const arguments[] = { cache, NULL };
    struct forgetter forgetter = {
        .client = fuse_client_new(0, arguments),
        .nodes = g_async_queue_new(),
    };
    GThread *thread = g_thread_new("forget", forget_all, &forgetter);
    unsigned before = client_count_fds(forgetter.client);

    for (unsigned i = 0; i < ROUNDS; i++)
        use_while_forgotten(&forgetter, i);
    g_async_queue_push(forgetter.nodes, &forgetter);
    g_thread_join(thread);
    g_assert_cmpuint(client_count_fds(forgetter.client), <=, before + 1);
    g_async_queue_unref(forgetter.nodes);
    client_free(forgetter.client);
}

/* ---- kicks -------------------------------------------------------------- */

int main(int argc, char **argv)
{
    umask(0);
    g_test_init(&argc, &argv, NULL);
    stall_install();
    g_test_add_func("/thread/names", test_names);
    g_test_add_func("/thread/count", test_count);
    g_test_add_func("/thread/turns/short", test_turns);
    g_test_add_func("/thread/turns/policy", test_turns_policy);
    g_test_add_data_func("/thread/unheld/plain", (gpointer)0, test_unheld);
    g_test_add_data_func("/thread/unheld/event-idx", (gpointer)CLIENT_EVENT_IDX,
                         test_unheld);
    g_test_add_data_func("/thread/stop/high", GUINT_TO_POINTER(HIGH_QUEUE),
                         test_one_stops);
    g_test_add_data_func("/thread/stop/requests", GUINT_TO_POINTER(FUSE_QUEUE),
                         test_one_stops);
    g_test_add_data_func("/thread/break/high", GUINT_TO_POINTER(HIGH_QUEUE),
                         test_one_breaks);
    g_test_add_data_func("/thread/break/requests", GUINT_TO_POINTER(FUSE_QUEUE),
                         test_one_breaks);
    g_test_add_data_func("/thread/poll/high", GUINT_TO_POINTER(HIGH_QUEUE),
                         test_one_polls);
    g_test_add_data_func("/thread/poll/requests", GUINT_TO_POINTER(FUSE_QUEUE),
                         test_one_polls);
    g_test_add_data_func("/thread/forget/never", "--cache=never", test_forget);
    g_test_add_data_func("/thread/forget/auto", "--cache=auto", test_forget);
    return g_test_run();
}
