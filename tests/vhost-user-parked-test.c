/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost-user-parked-test - a guest whose requests are parked: floods of them,
 * their order, and rings that are stopped or reset meanwhile.
 *
 * A queue of its own takes many requests at once. Its ring and its requests lie
 * in memory of its own: each request has two descriptors and a slot for what it
 * reads and writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/control_client.h"
#include "tests/fuse_client.h"
#include "virtiofs/parked.h"
#include "virtiofs/vu_message.h"

#define ROOT      FUSE_ROOT_ID
#define MEMORY_AT (1ull << 32) /* in the guest */

enum {
    QUEUE = 3,
    READ_QUEUE = 2,
    SIZE = 32768,
    SLOT = 512, /* the request, and from REPLY on its reply */
    REPLY = 128,
    MAX_REQUESTS = SIZE / 2,
    SLOTS_AT = 1 << 20, /* after the ring */
    MEMORY = SLOTS_AT + MAX_REQUESTS * SLOT,
    FLOOD = PARKED_MAX + 2000,
    GROWTH_KB = 32 << 10, /* what a flood may cost the daemon */
    FEW = 100,
    WAIT_TRIES = 3000,
    WAIT_US = 10000,
};

struct guest {
    struct client *client;
    struct control_client *control;
    char *folder; /* the control socket and the undo log */
    uint8_t *memory;
    struct vring ring;
    int kick;
    unsigned sent;
    int64_t step;
    char *safeguard; /* the pending decision */
};

#define OK(call) g_assert_cmpint((call), ==, 0)

/* ---- the queue ----------------------------------------------------------- */

static void tell(struct guest *g, uint32_t request, uint32_t value)
{
    uint32_t payload[2] = { QUEUE, value };

    g_assert_true(
        client_tell(g->client, request, payload, sizeof(payload), NULL, 0));
}

/* Set the queue up where it is; base: 0, or as it was stopped. */
static void start_queue(struct guest *g, uint32_t base)
{
    struct vhost_ring_addresses addresses = {
        .index = QUEUE,
        .desc = (uintptr_t)g->ring.desc,
        .used = (uintptr_t)g->ring.used,
        .avail = (uintptr_t)g->ring.avail,
    };
    uint64_t kick = QUEUE;

    tell(g, VU_SET_VRING_NUM, SIZE);
    tell(g, VU_SET_VRING_BASE, base);
    g_assert_true(client_tell(g->client, VU_SET_VRING_ADDR, &addresses,
                              sizeof(addresses), NULL, 0));
    g_assert_true(client_tell(g->client, VU_SET_VRING_KICK, &kick, sizeof(kick),
                              &g->kick, 1));
    tell(g, VU_SET_VRING_ENABLE, 1);
}

static void clear_queue(struct guest *g)
{
    memset(g->memory, 0, SLOTS_AT);
    g->sent = 0;
}

static void share_memory(struct guest *g)
{
    struct {
        uint64_t padding;
        struct guest_region region;
    } payload = { .region = { .guest_address = MEMORY_AT, .size = MEMORY } };
    int fd = memfd_create("guest", MFD_CLOEXEC);

    OK(ftruncate(fd, MEMORY));
    g->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    g_assert_true(g->memory != MAP_FAILED);
    payload.region.user_address = (uintptr_t)g->memory;
    g_assert_true(client_tell(g->client, VU_ADD_MEM_REG, &payload,
                              sizeof(payload), &fd, 1));
    close(fd);
    vring_init(&g->ring, SIZE, g->memory, 4096);
    g_assert_cmpuint(vring_size(SIZE, 4096), <=, SLOTS_AT);
}

/* Write a request, to be sent by kick(). */
static void put(struct guest *g, uint32_t opcode, uint64_t node,
                const struct iovec *args, unsigned n_args)
{
    unsigned i = g->sent++;
    uint32_t at = SLOTS_AT + i * SLOT, len = sizeof(struct fuse_in_header);
    struct fuse_in_header head = {
        .opcode = opcode, .unique = 1000001 + 2 * i, .nodeid = node, .pid = 1
    };

    g_assert_cmpuint(i, <, MAX_REQUESTS);
    for (unsigned a = 0; a < n_args; a++) {
        memcpy(g->memory + at + len, args[a].iov_base, args[a].iov_len);
        len += (uint32_t)args[a].iov_len;
    }
    g_assert_cmpuint(len, <=, REPLY);
    head.len = len;
    memcpy(g->memory + at, &head, sizeof(head));
    g->ring.desc[2 * i] = (struct vring_desc){ MEMORY_AT + at, len,
                                               VRING_DESC_F_NEXT,
                                               (uint16_t)(2 * i + 1) };
    g->ring.desc[2 * i + 1] = (struct vring_desc){ MEMORY_AT + at + REPLY,
                                                   SLOT - REPLY,
                                                   VRING_DESC_F_WRITE, 0 };
    g->ring.avail->ring[i] = (uint16_t)(2 * i);
}

static void kick(struct guest *g)
{
    uint64_t one = 1;

    __atomic_store_n(&g->ring.avail->idx, (uint16_t)g->sent, __ATOMIC_RELEASE);
    g_assert_cmpint(write(g->kick, &one, sizeof(one)), ==, sizeof(one));
}

static unsigned answered(struct guest *g)
{
    return __atomic_load_n(&g->ring.used->idx, __ATOMIC_ACQUIRE);
}

static void wait_answered(struct guest *g, unsigned count)
{
    for (int i = 0; answered(g) != count; i++) {
        g_assert_cmpint(i, <, WAIT_TRIES);
        g_usleep(WAIT_US);
    }
}

/* Which request the n-th answer is of, and its error. */
static unsigned answer(struct guest *g, unsigned n, int *ret_error)
{
    unsigned i = g->ring.used->ring[n].id / 2;
    struct fuse_out_header head;

    memcpy(&head, g->memory + SLOTS_AT + i * SLOT + REPLY, sizeof(head));
    g_assert_cmpuint(head.unique, ==, 1000001 + 2 * i);
    *ret_error = head.error;
    return i;
}

static void expect_answers(struct guest *g, unsigned first, unsigned end,
                           int expected)
{
    for (unsigned n = first; n < end; n++) {
        int error;

        answer(g, n, &error);
        g_assert_cmpint(error, ==, expected);
    }
}

/* ---- requests ------------------------------------------------------------ */

static void put_name(struct guest *g, uint32_t opcode, const char *name)
{
    struct fuse_mkdir_in in = { .mode = 0755 };
    struct iovec args[2] = { { &in, sizeof(in) },
                             { (void *)name, strlen(name) + 1 } };

    if (opcode == FUSE_MKDIR)
        put(g, opcode, ROOT, args, 2);
    else
        put(g, opcode, ROOT, args + 1, 1);
}

static void put_folders(struct guest *g, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        g_autofree char *name = g_strdup_printf("folder%u", i);

        put_name(g, FUSE_MKDIR, name);
    }
}

static void put_write(struct guest *g, uint64_t node, uint64_t fh, unsigned n)
{
    struct fuse_write_in in = { .fh = fh, .size = sizeof(n) };
    struct iovec args[2] = { { &in, sizeof(in) }, { &n, sizeof(n) } };

    put(g, FUSE_WRITE, node, args, 2);
}

static bool exists(struct guest *g, const char *name)
{
    g_autofree char *path = g_build_filename(g->client->share, name, NULL);

    return access(path, F_OK) == 0;
}

static unsigned count_folders(struct guest *g)
{
    GDir *dir = g_dir_open(g->client->share, 0, NULL);
    const char *name;
    unsigned count = 0;

    while ((name = g_dir_read_name(dir)))
        count += g_str_has_prefix(name, "folder");
    g_dir_close(dir);
    return count;
}

/* On another queue. */
static void read_on(struct guest *g)
{
    struct fuse_statfs_out out;

    OK(fuse_client_call(g->client, READ_QUEUE, FUSE_STATFS, ROOT, NULL, 0,
                        sizeof(out), NULL, NULL));
}

/* ---- the agent ----------------------------------------------------------- */

static json_t *request(struct guest *g, const char *type, json_t *payload)
{
    g_autoptr(GError) error = NULL;
    json_t *result = control_client_request(g->control, type, payload, &error);

    g_assert_no_error(error);
    return result;
}

static void confirm(struct guest *g, const char *action)
{
    json_decref(request(g, "safeguard.confirm",
                        json_pack("{s:s, s:s}", "safeguard_id", g->safeguard,
                                  "action", action)));
}

static void close_step(struct guest *g, bool denied)
{
    json_t *report = request(
        g, "step.close",
        json_pack("{s:I, s:i}", "step_id", (json_int_t)g->step, "quiet_ms", 0));

    g_assert_true(json_is_true(json_object_get(report, "aborted")) == denied);
    json_decref(report);
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    OK(connect(fd, (struct sockaddr *)&address, sizeof(address)));
    return fd;
}

static void start_daemon(struct guest *g, const char *socket, const char *undo)
{
    const char *arguments[] = {
        "--undo-dir", undo, "--interceptor-socket", socket, "--log-level",
        "error",      NULL
    };

    g->client = fuse_client_new(0, arguments);
}

static struct guest *guest_new(void)
{
    struct guest *g = g_new0(struct guest, 1);
    g_autofree char *socket = NULL, *undo = NULL, *victim = NULL;

    g->folder = g_dir_make_tmp("parked-XXXXXX", NULL);
    socket = g_build_filename(g->folder, "control", NULL);
    undo = g_build_filename(g->folder, "undo", NULL);
    start_daemon(g, socket, undo);
    g->control = control_client_new(connect_to(socket));
    g->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    share_memory(g);
    start_queue(g, 0);
    victim = g_build_filename(g->client->share, "victim", NULL);
    g_assert_true(g_file_set_contents(victim, "content", -1, NULL));
    return g;
}

static void guest_free(struct guest *g)
{
    char *argv[] = { (char *)"rm", (char *)"-rf", g->folder, NULL };

    client_free(g->client); /* expects that the daemon ends well */
    control_client_free(g->control);
    g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                 NULL, NULL);
    munmap(g->memory, MEMORY);
    close(g->kick);
    g_free(g->safeguard);
    g_free(g->folder);
    g_free(g);
}

/* Have the deletion of "victim" held: the first of the queue's requests. */
static void hold(struct guest *g)
{
    json_t *event;

    json_decref(request(g, "safeguard.configure",
                        json_pack("{s:i, s:i}", "delete_threshold", 1,
                                  "timeout_seconds", 600)));
    g->step++;
    json_decref(request(g, "step.open",
                        json_pack("{s:I}", "step_id", (json_int_t)g->step)));
    put_name(g, FUSE_UNLINK, "victim");
    kick(g);
    event = control_client_wait_event(g->control, "event.safeguard_triggered");
    g_free(g->safeguard);
    g->safeguard = g_strdup(
        json_string_value(json_object_get(event, "safeguard_id")));
    json_decref(event);
}

/* ---- floods -------------------------------------------------------------- */

static long resident_kb(struct guest *g)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status",
                                            (int)g->client->pid);
    g_autofree char *text = NULL;
    const char *line;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    line = strstr(text, "VmRSS:");
    g_assert_nonnull(line);
    return strtol(line + strlen("VmRSS:"), NULL, 10);
}

/* 10,000 wait, more get ENOSPC, and the daemon serves reads. */
static void flood(gconstpointer data)
{
    bool allow = GPOINTER_TO_INT(data);
    unsigned too_many = FLOOD + 1 - PARKED_MAX;
    struct guest *g = guest_new();
    long before;

    hold(g);
    before = resident_kb(g);
    put_folders(g, FLOOD);
    kick(g);
    wait_answered(g, too_many);
    expect_answers(g, 0, too_many, -ENOSPC);
    read_on(g);
    client_expect_alive(g->client);
    g_assert_cmpint(resident_kb(g) - before, <, GROWTH_KB);
    g_assert_cmpuint(count_folders(g), ==, 0);
    g_assert_true(exists(g, "victim"));
    g_assert_cmpuint(answered(g), ==, too_many);
    confirm(g, allow ? "allow" : "deny");
    wait_answered(g, FLOOD + 1);
    expect_answers(g, too_many, FLOOD + 1, allow ? 0 : -EPERM);
    g_assert_true(exists(g, "victim") == !allow);
    g_assert_cmpuint(count_folders(g), ==, allow ? PARKED_MAX - 1 : 0);
    close_step(g, !allow);
    guest_free(g);
}

/* ---- order --------------------------------------------------------------- */

/* Writes of one file are made, and answered, in the order in which they came.
 */
static void order(void)
{
    struct guest *g = guest_new();
    g_autofree char *path = g_build_filename(g->client->share, "file", NULL);
    g_autofree char *text = NULL;
    unsigned last = FEW - 1;
    uint64_t node, fh;
    int error;

    OK(fuse_client_create(g->client, ROOT, "file", O_RDWR, &node, &fh));
    hold(g);
    for (unsigned i = 0; i < FEW; i++)
        put_write(g, node, fh, i);
    kick(g);
    read_on(g);
    confirm(g, "allow");
    wait_answered(g, FEW + 1);
    for (unsigned n = 0; n <= FEW; n++) {
        g_assert_cmpuint(answer(g, n, &error), ==, n);
        OK(error);
    }
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    OK(memcmp(text, &last, sizeof(last)));
    close_step(g, false);
    guest_free(g);
}

/* ---- rings that stop ----------------------------------------------------- */

static uint32_t stop_queue(struct guest *g)
{
    uint32_t payload[2] = { QUEUE, 0 }, reply[2] = { 0 };

    client_ask(g->client, VU_GET_VRING_BASE, payload, sizeof(payload), reply,
               sizeof(reply));
    return reply[1];
}

/* The front-end stops the rings to pause the guest, and decides meanwhile. */
static void pause_guest(gconstpointer data)
{
    bool allow = GPOINTER_TO_INT(data);
    struct guest *g = guest_new();
    uint32_t base;

    hold(g);
    put_folders(g, FEW);
    kick(g);
    read_on(g);
    base = stop_queue(g);
    confirm(g, allow ? "allow" : "deny");
    g_assert_cmpuint(answered(g), ==, 0);
    g_assert_cmpuint(count_folders(g), ==, 0);
    start_queue(g, base);
    wait_answered(g, FEW + 1);
    /* What was not yet taken when it stopped came after the decision. */
    expect_answers(g, 0, FEW + 1, allow ? 0 : -EPERM);
    close_step(g, !allow);
    guest_free(g);
}

/* A guest that boots anew waits for nothing of its past. */
static void reset_guest(gconstpointer data)
{
    bool device = GPOINTER_TO_INT(data);
    struct guest *g = guest_new();

    hold(g);
    put_folders(g, FEW);
    kick(g);
    read_on(g);
    stop_queue(g);
    if (device)
        g_assert_true(
            client_tell(g->client, VU_RESET_DEVICE, NULL, 0, NULL, 0));
    clear_queue(g);
    start_queue(g, 0);
    for (unsigned i = 0; device && i < CLIENT_QUEUES; i++)
        client_start_queue(g->client, i);
    fuse_client_init(g->client);
    confirm(g, "allow");
    put_name(g, FUSE_MKDIR, "folder-after");
    kick(g);
    wait_answered(g, 1);
    expect_answers(g, 0, 1, 0);
    g_assert_true(exists(g, "victim"));
    g_assert_cmpuint(count_folders(g), ==, 1);
    close_step(g, false);
    guest_free(g);
}

/* INIT on the same rings, by a guest that should not: what waits is answered.
 */
static void init_again(void)
{
    struct guest *g = guest_new();

    hold(g);
    put_folders(g, FEW);
    kick(g);
    fuse_client_init(g->client);
    confirm(g, "deny");
    wait_answered(g, FEW + 1);
    g_assert_true(exists(g, "victim"));
    g_assert_cmpuint(count_folders(g), ==, 0);
    close_step(g, true);
    guest_free(g);
}

/* The front-end goes while requests wait: the daemon ends, with status 0. */
static void disconnect(void)
{
    struct guest *g = guest_new();

    hold(g);
    put_folders(g, FEW);
    kick(g);
    read_on(g);
    guest_free(g);
}

/* The guest changes a request that waits: what it says then is done. */
static void changed_request(gconstpointer data)
{
    bool outside = GPOINTER_TO_INT(data);
    struct guest *g = guest_new();

    hold(g);
    put_folders(g, 1);
    kick(g);
    read_on(g);
    if (outside)
        g->ring.desc[2].addr = 1ull << 50;
    else
        g->ring.desc[2].len = 3;
    confirm(g, "allow");
    wait_answered(g, outside ? 1 : 2);
    g_assert_false(exists(g, "victim"));
    g_assert_cmpuint(count_folders(g), ==, 0);
    read_on(g);
    client_expect_alive(g->client);
    guest_free(g);
}

/* ---- interrupts ---------------------------------------------------------- */

static void interrupt(void)
{
    struct guest *g = guest_new();
    struct fuse_interrupt_in in = { .unique = 1000001 + 2 * 2 };
    struct iovec args = { &in, sizeof(in) };
    int error;

    hold(g);
    put_folders(g, 3);
    put(g, FUSE_INTERRUPT, 0, &args, 1);
    kick(g);
    wait_answered(g, 2); /* the interrupt itself, without a reply */
    for (unsigned n = 0; n < 2; n++) {
        if (g->ring.used->ring[n].id / 2 != 4) {
            g_assert_cmpuint(answer(g, n, &error), ==, 2);
            g_assert_cmpint(error, ==, -EINTR);
        }
    }
    confirm(g, "allow");
    wait_answered(g, 5);
    expect_answers(g, 2, 5, 0);
    g_assert_false(exists(g, "folder1"));
    g_assert_cmpuint(count_folders(g), ==, 2);
    guest_free(g);
}

/* ---- the list alone ------------------------------------------------------ */

static void count_wake(void *opaque)
{
    ++*(unsigned *)opaque;
}

/* The engine's word may come between the try and the putting aside. */
static void unit(void)
{
    unsigned wakes = 0;
    struct parked *parked = parked_new();
    struct parked_queue *queue = parked_queue_new(parked, count_wake, &wakes,
                                                  g_free);
    struct parked_request taken;
    uint64_t releases = parked_releases(parked);

    OK(parked_put(queue, releases, 1, g_strdup("one"), 4));
    g_assert_false(parked_take(queue, &taken));
    parked_release(parked, 0);
    g_assert_cmpuint(wakes, ==, 1);
    OK(parked_put(queue, releases, 2, g_strdup("two"), 4)); /* ready at once */
    g_assert_cmpuint(wakes, ==, 2);
    for (uint64_t i = 1; i <= 2; i++) {
        g_assert_true(parked_take(queue, &taken));
        g_assert_cmpuint(taken.unique, ==, i);
        OK(taken.error);
        g_free(taken.data);
    }
    g_assert_false(parked_has_ready(queue));
    releases = parked_releases(parked);
    parked_release(parked, -EPERM);
    parked_release(parked, 0);
    g_assert_cmpint(parked_put(queue, releases, 3, NULL, 0), ==, -EPERM);
    releases = parked_releases(parked);
    parked_interrupt(parked, 4);
    g_assert_cmpint(parked_put(queue, releases, 4, NULL, 0), ==, -EINTR);
    OK(parked_put(queue, releases, 4, g_strdup("four"), 5));
    g_assert_cmpint(parked_put(queue, releases, 5, NULL, PARKED_MAX_BYTES), ==,
                    -ENOSPC);
    g_assert_cmpuint(parked_count(queue), ==, 1);
    parked_queue_free(queue);
    parked_free(parked);
}

static const struct {
    const char *path;
    void (*run)(gconstpointer data);
    gconstpointer data;
} cases[] = {
    { "/parked/SG-07-DOS-02/flood-denied", flood },
    { "/parked/SG-07-DOS-02/flood-allowed", flood, GINT_TO_POINTER(1) },
    { "/parked/pause/allowed", pause_guest, GINT_TO_POINTER(1) },
    { "/parked/pause/denied", pause_guest },
    { "/parked/reset/rings", reset_guest },
    { "/parked/reset/device", reset_guest, GINT_TO_POINTER(1) },
    { "/parked/changed/shorter", changed_request },
    { "/parked/changed/outside", changed_request, GINT_TO_POINTER(1) },
};

int main(int argc, char **argv)
{
    umask(0);
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add_data_func(cases[i].path, cases[i].data, cases[i].run);
    g_test_add_func("/parked/unit", unit);
    g_test_add_func("/parked/order", order);
    g_test_add_func("/parked/init-again", init_again);
    g_test_add_func("/parked/disconnect", disconnect);
    g_test_add_func("/parked/interrupt", interrupt);
    return g_test_run();
}
