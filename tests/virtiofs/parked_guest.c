/* SPDX-License-Identifier: Apache-2.0
 *
 * parked_guest - see parked_guest.h.
 */
#include "tests/virtiofs/parked_guest.h"

#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "virtiofs/vhost/vu_message.h"

#define OK(call)  g_assert_cmpint((call), ==, 0)
#define MEMORY_AT (1ull << 32) /* in the guest */

enum {
    READ_QUEUE = 2,
    SLOT = 512, /* the request, and from REPLY on its reply */
    REPLY = 128,
    MAX_REQUESTS = GUEST_QUEUE_SIZE / 2,
    SLOTS_AT = 1 << 20, /* after the ring */
    MEMORY = SLOTS_AT + MAX_REQUESTS * SLOT,
    WAIT_TRIES = 3000,
    WAIT_US = 10000,
};

/* ---- the queue ----------------------------------------------------------- */

static void tell(struct guest *g, uint32_t request, uint32_t value)
{
    uint32_t payload[2] = { GUEST_QUEUE, value };

    g_assert_true(
        client_tell(g->client, request, payload, sizeof(payload), NULL, 0));
}

void guest_start_queue(struct guest *g, uint32_t base)
{
    struct vhost_ring_addresses addresses = {
        .index = GUEST_QUEUE,
        .desc = (uintptr_t)g->ring.desc,
        .used = (uintptr_t)g->ring.used,
        .avail = (uintptr_t)g->ring.avail,
    };
    uint64_t kick = GUEST_QUEUE;

    tell(g, VU_SET_VRING_NUM, GUEST_QUEUE_SIZE);
    tell(g, VU_SET_VRING_BASE, base);
    g_assert_true(client_tell(g->client, VU_SET_VRING_ADDR, &addresses,
                              sizeof(addresses), NULL, 0));
    g_assert_true(client_tell(g->client, VU_SET_VRING_KICK, &kick, sizeof(kick),
                              &g->kick, 1));
    tell(g, VU_SET_VRING_ENABLE, 1);
}

uint32_t guest_stop_queue(struct guest *g)
{
    uint32_t payload[2] = { GUEST_QUEUE, 0 }, reply[2] = { 0 };

    client_ask(g->client, VU_GET_VRING_BASE, payload, sizeof(payload), reply,
               sizeof(reply));
    return reply[1];
}

void guest_clear_queue(struct guest *g)
{
    memset(g->memory, 0, SLOTS_AT);
    g->sent = 0;
}

void guest_enable_queue(struct guest *g, bool enable)
{
    tell(g, VU_SET_VRING_ENABLE, enable);
}

struct slot_payload {
    uint64_t padding;
    struct guest_region region;
};

static struct slot_payload region_of(struct guest *g)
{
    return (struct slot_payload){ .region = {
                                      .guest_address = MEMORY_AT,
                                      .size = MEMORY,
                                      .user_address = (uintptr_t)g->memory } };
}

void guest_share_memory(struct guest *g)
{
    struct slot_payload payload = region_of(g);

    g_assert_true(client_tell(g->client, VU_ADD_MEM_REG, &payload,
                              sizeof(payload), &g->memory_fd, 1));
}

void guest_unshare_memory(struct guest *g)
{
    struct slot_payload payload = region_of(g);

    g_assert_true(client_tell(g->client, VU_REM_MEM_REG, &payload,
                              sizeof(payload), NULL, 0));
}

static void make_memory(struct guest *g)
{
    g->memory_fd = memfd_create("guest", MFD_CLOEXEC);
    OK(ftruncate(g->memory_fd, MEMORY));
    g->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED,
                     g->memory_fd, 0);
    g_assert_true(g->memory != MAP_FAILED);
    vring_init(&g->ring, GUEST_QUEUE_SIZE, g->memory, 4096);
    g_assert_cmpuint(vring_size(GUEST_QUEUE_SIZE, 4096), <=, SLOTS_AT);
}

void guest_put(struct guest *g, uint32_t opcode, uint64_t node,
               const struct iovec *args, unsigned n_args)
{
    unsigned i = g->sent++;
    uint32_t at = SLOTS_AT + i * SLOT, len = sizeof(struct fuse_in_header);
    struct fuse_in_header head = {
        .opcode = opcode, .unique = GUEST_UNIQUE(i), .nodeid = node, .pid = 1
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

void guest_kick(struct guest *g)
{
    uint64_t one = 1;

    __atomic_store_n(&g->ring.avail->idx, (uint16_t)g->sent, __ATOMIC_RELEASE);
    g_assert_cmpint(write(g->kick, &one, sizeof(one)), ==, sizeof(one));
}

unsigned guest_answered(struct guest *g)
{
    return __atomic_load_n(&g->ring.used->idx, __ATOMIC_ACQUIRE);
}

void guest_wait_answered(struct guest *g, unsigned count)
{
    for (int i = 0; guest_answered(g) != count; i++) {
        g_assert_cmpint(i, <, WAIT_TRIES);
        g_usleep(WAIT_US);
    }
}

unsigned guest_answer(struct guest *g, unsigned n, int *ret_error)
{
    unsigned i = g->ring.used->ring[n].id / 2;
    struct fuse_out_header head;

    memcpy(&head, g->memory + SLOTS_AT + i * SLOT + REPLY, sizeof(head));
    g_assert_cmpuint(head.unique, ==, GUEST_UNIQUE(i));
    *ret_error = head.error;
    return i;
}

void guest_expect_answers(struct guest *g, unsigned first, unsigned end,
                          int expected)
{
    for (unsigned n = first; n < end; n++) {
        int error;

        guest_answer(g, n, &error);
        g_assert_cmpint(error, ==, expected);
    }
}

/* ---- requests ------------------------------------------------------------ */

void guest_put_name(struct guest *g, uint32_t opcode, const char *name)
{
    struct fuse_mkdir_in in = { .mode = 0755 };
    struct iovec args[2] = { { &in, sizeof(in) },
                             { (void *)name, strlen(name) + 1 } };

    if (opcode == FUSE_MKDIR)
        guest_put(g, opcode, FUSE_ROOT_ID, args, 2);
    else
        guest_put(g, opcode, FUSE_ROOT_ID, args + 1, 1);
}

void guest_put_folders(struct guest *g, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        g_autofree char *name = g_strdup_printf("folder%u", i);

        guest_put_name(g, FUSE_MKDIR, name);
    }
}

void guest_put_write(struct guest *g, uint64_t node, uint64_t fh, unsigned n)
{
    struct fuse_write_in in = { .fh = fh, .size = sizeof(n) };
    struct iovec args[2] = { { &in, sizeof(in) }, { &n, sizeof(n) } };

    guest_put(g, FUSE_WRITE, node, args, 2);
}

bool guest_exists(struct guest *g, const char *name)
{
    g_autofree char *path = g_build_filename(g->client->share, name, NULL);

    return access(path, F_OK) == 0;
}

unsigned guest_count_folders(struct guest *g)
{
    GDir *dir = g_dir_open(g->client->share, 0, NULL);
    const char *name;
    unsigned count = 0;

    while ((name = g_dir_read_name(dir)))
        count += g_str_has_prefix(name, "folder");
    g_dir_close(dir);
    return count;
}

void guest_read_on(struct guest *g)
{
    struct fuse_statfs_out out;

    OK(fuse_client_call(g->client, READ_QUEUE, FUSE_STATFS, FUSE_ROOT_ID, NULL,
                        0, sizeof(out), NULL, NULL));
}

/* ---- the agent ----------------------------------------------------------- */

static json_t *request(struct guest *g, const char *type, json_t *payload)
{
    g_autoptr(GError) error = NULL;
    json_t *result = control_client_request(g->control, type, payload, &error);

    g_assert_no_error(error);
    return result;
}

void guest_confirm(struct guest *g, const char *action)
{
    json_decref(request(g, "safeguard.confirm",
                        json_pack("{s:s, s:s}", "safeguard_id", g->safeguard,
                                  "action", action)));
}

void guest_close_step(struct guest *g, bool denied)
{
    json_t *report = request(
        g, "step.close",
        json_pack("{s:I, s:i}", "step_id", (json_int_t)g->step, "quiet_ms", 0));

    g_assert_true(json_is_true(json_object_get(report, "aborted")) == denied);
    json_decref(report);
}

static void start_daemon(struct guest *g, const char *socket, const char *undo,
                         const char *const *more)
{
    g_autoptr(GPtrArray) arguments = g_ptr_array_new();
    const char *own[] = { "--undo-dir", undo,          "--interceptor-socket",
                          socket,       "--log-level", "error" };

    for (unsigned i = 0; i < G_N_ELEMENTS(own); i++)
        g_ptr_array_add(arguments, (char *)own[i]);
    for (; *more; more++)
        g_ptr_array_add(arguments, (char *)*more);
    g_ptr_array_add(arguments, NULL);
    g->client = fuse_client_new(0, (const char *const *)arguments->pdata);
}

struct guest *guest_new(void)
{
    const char *const none[] = { NULL };

    return guest_new_with(none);
}

struct guest *guest_new_with(const char *const *arguments)
{
    struct guest *g = g_new0(struct guest, 1);
    g_autofree char *socket = NULL, *undo = NULL, *victim = NULL;

    g->folder = g_dir_make_tmp("parked-XXXXXX", NULL);
    socket = g_build_filename(g->folder, "control", NULL);
    undo = g_build_filename(g->folder, "undo", NULL);
    start_daemon(g, socket, undo, arguments);
    g->control = control_client_connect(socket);
    g->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    make_memory(g);
    guest_share_memory(g);
    guest_start_queue(g, 0);
    victim = g_build_filename(g->client->share, "victim", NULL);
    g_assert_true(g_file_set_contents(victim, "content", -1, NULL));
    return g;
}

void guest_free(struct guest *g)
{
    char *argv[] = { (char *)"rm", (char *)"-rf", g->folder, NULL };

    client_free(g->client); /* expects status 0 of the daemon */
    control_client_free(g->control);
    g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                 NULL, NULL);
    munmap(g->memory, MEMORY);
    close(g->memory_fd);
    close(g->kick);
    g_free(g->safeguard);
    g_free(g->folder);
    g_free(g);
}

void guest_hold(struct guest *g)
{
    json_t *event;

    json_decref(request(g, "safeguard.configure",
                        json_pack("{s:i, s:i}", "delete_threshold", 1,
                                  "timeout_seconds", 600)));
    g->step++;
    json_decref(request(g, "step.open",
                        json_pack("{s:I}", "step_id", (json_int_t)g->step)));
    guest_put_name(g, FUSE_UNLINK, "victim");
    guest_kick(g);
    event = control_client_wait_event(g->control, "event.safeguard_triggered");
    g_free(g->safeguard);
    g->safeguard = g_strdup(
        json_string_value(json_object_get(event, "safeguard_id")));
    json_decref(event);
}
