/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_user - see vhost_user.h.
 *
 * A table-driven loop over the front-end's messages. An invalid message is
 * refused (if the front-end asks for replies) or ignored and logged; only a
 * broken stream ends the connection.
 */
#include "virtiofs/vhost/vhost_user.h"

#include <errno.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "virtiofs/fuse/fuse_core.h"
#include "virtiofs/vhost/vhost_rings.h"
#include "virtiofs/vhost/vu_message.h"

#define FEATURES                                                               \
    (1ull << VIRTIO_F_VERSION_1 | 1ull << VIRTIO_RING_F_INDIRECT_DESC |        \
     1ull << VIRTIO_RING_F_EVENT_IDX | VU_F_LOG_ALL | VU_F_PROTOCOL_FEATURES)

#define PROTOCOL_FEATURES                                                      \
    (VU_PROTOCOL_MQ | VU_PROTOCOL_LOG_SHMFD | VU_PROTOCOL_REPLY_ACK |          \
     VU_PROTOCOL_RESET_DEVICE | VU_PROTOCOL_MEM_SLOTS)

struct vhost_user {
    struct fuse_server *server;
    struct vhost_rings *rings;
    int connection;
    uint64_t offered; /* protocol features */
    uint64_t features;
};

/* What a handler returns besides 0 and -errno: the payload is the reply. */
enum { REPLY_NUMBER = 1, REPLY_RING };

static int get_features(struct vhost_user *vu, struct vu_message *message)
{
    message->payload.number = FEATURES;
    return REPLY_NUMBER;
}

static int set_features(struct vhost_user *vu, struct vu_message *message)
{
    uint64_t features = message->payload.number;

    if (features & ~FEATURES)
        return -EINVAL;
    vu->features = features;
    vhost_rings_set_features(
        vu->rings, features & 1ull << VIRTIO_RING_F_EVENT_IDX,
        features & VU_F_LOG_ALL, !(features & VU_F_PROTOCOL_FEATURES));
    return 0;
}

static int get_protocol_features(struct vhost_user *vu,
                                 struct vu_message *message)
{
    message->payload.number = vu->offered;
    return REPLY_NUMBER;
}

static int set_protocol_features(struct vhost_user *vu,
                                 struct vu_message *message)
{
    return message->payload.number & ~vu->offered ? -EINVAL : 0;
}

/* The process has a single front-end, so there is no ownership to track. */
static int set_owner(struct vhost_user *vu, struct vu_message *message)
{
    return 0;
}

static int reset_device(struct vhost_user *vu, struct vu_message *message)
{
    vhost_rings_reset(vu->rings);
    fuse_core_reset(vu->server);
    return 0;
}

static int get_queue_num(struct vhost_user *vu, struct vu_message *message)
{
    message->payload.number = VHOST_RINGS_MAX;
    return REPLY_NUMBER;
}

static int set_mem_table(struct vhost_user *vu, struct vu_message *message)
{
    unsigned n = message->payload.table.n_regions;

    if (n > VU_MAX_TABLE_REGIONS || n != message->n_fds ||
        message->head.size < 8 + n * sizeof(struct guest_region))
        return -EINVAL;
    return vhost_rings_set_memory(vu->rings, message->payload.table.regions,
                                  message->fds, n);
}

static int get_max_mem_slots(struct vhost_user *vu, struct vu_message *message)
{
    message->payload.number = GUEST_MEMORY_MAX_REGIONS;
    return REPLY_NUMBER;
}

static int add_mem_reg(struct vhost_user *vu, struct vu_message *message)
{
    if (message->n_fds != 1)
        return -EINVAL;
    return vhost_rings_add_memory(vu->rings, &message->payload.slot.region,
                                  message->fds[0]);
}

static int rem_mem_reg(struct vhost_user *vu, struct vu_message *message)
{
    return vhost_rings_remove_memory(vu->rings, &message->payload.slot.region);
}

/* The front-end waits for this reply even without REPLY_ACK. */
static int set_log_base(struct vhost_user *vu, struct vu_message *message)
{
    int r;

    if (message->n_fds != 1)
        return -EINVAL;
    r = vhost_rings_set_log(vu->rings, message->fds[0],
                            message->payload.log.offset,
                            message->payload.log.size);
    message->payload.number = r < 0;
    return REPLY_NUMBER;
}

static int set_vring_num(struct vhost_user *vu, struct vu_message *message)
{
    return vhost_rings_set_size(vu->rings, message->payload.ring.index,
                                message->payload.ring.value);
}

static int set_vring_addr(struct vhost_user *vu, struct vu_message *message)
{
    int r = vhost_rings_set_addresses(vu->rings, &message->payload.addresses);

    if (r == -EFAULT)
        log_warn(LOG_FS_BACKEND,
                 "queue %u: not in shared memory; QEMU shares a memory "
                 "backend with share=on",
                 message->payload.addresses.index);
    return r;
}

static int set_vring_base(struct vhost_user *vu, struct vu_message *message)
{
    return vhost_rings_set_base(vu->rings, message->payload.ring.index,
                                message->payload.ring.value);
}

static int get_vring_base(struct vhost_user *vu, struct vu_message *message)
{
    uint32_t base = 0;
    int r = vhost_rings_get_base(vu->rings, message->payload.ring.index, &base);

    if (r < 0)
        log_warn(LOG_FS_BACKEND, "GET_VRING_BASE of ring %u: %s",
                 message->payload.ring.index, g_strerror(-r));
    message->payload.ring.value = base;
    return REPLY_RING;
}

static int set_vring_fd(struct vhost_user *vu, struct vu_message *message,
                        int (*set)(struct vhost_rings *rings, uint32_t index,
                                   int fd))
{
    uint64_t number = message->payload.number;
    bool has_fd = !(number & VU_NO_FD);

    if (has_fd != (message->n_fds == 1) || number & ~(VU_NO_FD | 0xffull))
        return -EINVAL;
    return set(vu->rings, (uint32_t)(number & 0xff),
               vu_message_take_fd(message));
}

static int set_vring_kick(struct vhost_user *vu, struct vu_message *message)
{
    return set_vring_fd(vu, message, vhost_rings_set_kick);
}

static int set_vring_call(struct vhost_user *vu, struct vu_message *message)
{
    return set_vring_fd(vu, message, vhost_rings_set_call);
}

static int set_vring_err(struct vhost_user *vu, struct vu_message *message)
{
    return set_vring_fd(vu, message, vhost_rings_set_err);
}

static int set_vring_enable(struct vhost_user *vu, struct vu_message *message)
{
    if (message->payload.ring.value > 1)
        return -EINVAL;
    return vhost_rings_set_enable(vu->rings, message->payload.ring.index,
                                  message->payload.ring.value);
}

struct vu_handler {
    int (*handle)(struct vhost_user *vu, struct vu_message *message);
    const char *name;
    size_t size; /* the minimum payload */
};

#define PAYLOAD(member) sizeof(((union vu_payload *)NULL)->member)

static const struct vu_handler handlers[] = {
    [VU_GET_FEATURES] = { get_features, "GET_FEATURES", 0 },
    [VU_SET_FEATURES] = { set_features, "SET_FEATURES", PAYLOAD(number) },
    [VU_SET_OWNER] = { set_owner, "SET_OWNER", 0 },
    [VU_RESET_OWNER] = { reset_device, "RESET_OWNER", 0 },
    [VU_SET_MEM_TABLE] = { set_mem_table, "SET_MEM_TABLE", 8 },
    [VU_SET_LOG_BASE] = { set_log_base, "SET_LOG_BASE", PAYLOAD(log) },
    [VU_SET_VRING_NUM] = { set_vring_num, "SET_VRING_NUM", PAYLOAD(ring) },
    [VU_SET_VRING_ADDR] = { set_vring_addr, "SET_VRING_ADDR",
                            PAYLOAD(addresses) },
    [VU_SET_VRING_BASE] = { set_vring_base, "SET_VRING_BASE", PAYLOAD(ring) },
    [VU_GET_VRING_BASE] = { get_vring_base, "GET_VRING_BASE", PAYLOAD(ring) },
    [VU_SET_VRING_KICK] = { set_vring_kick, "SET_VRING_KICK", PAYLOAD(number) },
    [VU_SET_VRING_CALL] = { set_vring_call, "SET_VRING_CALL", PAYLOAD(number) },
    [VU_SET_VRING_ERR] = { set_vring_err, "SET_VRING_ERR", PAYLOAD(number) },
    [VU_GET_PROTOCOL_FEATURES] = { get_protocol_features,
                                   "GET_PROTOCOL_FEATURES", 0 },
    [VU_SET_PROTOCOL_FEATURES] = { set_protocol_features,
                                   "SET_PROTOCOL_FEATURES", PAYLOAD(number) },
    [VU_GET_QUEUE_NUM] = { get_queue_num, "GET_QUEUE_NUM", 0 },
    [VU_SET_VRING_ENABLE] = { set_vring_enable, "SET_VRING_ENABLE",
                              PAYLOAD(ring) },
    [VU_RESET_DEVICE] = { reset_device, "RESET_DEVICE", 0 },
    [VU_GET_MAX_MEM_SLOTS] = { get_max_mem_slots, "GET_MAX_MEM_SLOTS", 0 },
    [VU_ADD_MEM_REG] = { add_mem_reg, "ADD_MEM_REG", PAYLOAD(slot) },
    [VU_REM_MEM_REG] = { rem_mem_reg, "REM_MEM_REG", PAYLOAD(slot) },
};

static int run_handler(struct vhost_user *vu, struct vu_message *message)
{
    uint32_t request = message->head.request;
    const struct vu_handler *handler;
    int r;

    if (request >= G_N_ELEMENTS(handlers) || !handlers[request].handle) {
        log_warn(LOG_FS_BACKEND, "vhost-user message %u: not supported",
                 request);
        return -ENOSYS;
    }
    handler = &handlers[request];
    r = message->head.size < handler->size ? -EINVAL
                                           : handler->handle(vu, message);
    log_debug(LOG_FS_BACKEND, "vhost-user %s: %d", handler->name, r);
    if (r < 0)
        log_warn(LOG_FS_BACKEND, "vhost-user %s refused: %s", handler->name,
                 g_strerror(-r));
    return r;
}

/* Handle one message and send its reply, if it has one. Return 0, or -errno if
 * the connection is broken. */
static int handle_message(struct vhost_user *vu, struct vu_message *message)
{
    /* A front-end sets this flag only with REPLY_ACK; but a former daemon,
     * replaced by this one, may have negotiated that. */
    bool ack = message->head.flags & VU_NEED_REPLY;
    int r = run_handler(vu, message);

    if (r == REPLY_RING)
        return vu_message_reply(vu->connection, message, PAYLOAD(ring));
    if (r != REPLY_NUMBER) {
        if (!ack)
            return 0;
        message->payload.number = r < 0;
    }
    return vu_message_reply(vu->connection, message, PAYLOAD(number));
}

/* Wait until fd is readable. Return false if the daemon must stop. */
static bool wait_readable(int fd, int stop_fd)
{
    struct pollfd p[2] = { { .fd = fd, .events = POLLIN },
                           { .fd = stop_fd, .events = POLLIN } };

    while (poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    return p[1].revents == 0;
}

static gboolean run_connection(struct vhost_user *vu, int stop_fd,
                               GError **error)
{
    struct vu_message message;
    int r = 1;

    vu_message_init(&message);
    while (r != 0 && wait_readable(vu->connection, stop_fd)) {
        r = vu_message_receive(vu->connection, &message);
        if (r == -EAGAIN) {
            r = 1;
            continue;
        }
        if (r > 0) {
            int sent = handle_message(vu, &message);

            vu_message_clear(&message);
            r = sent < 0 ? sent : 1;
        }
        if (r == -ECONNRESET || r == -EPIPE)
            r = 0; /* it closed with a reply of ours unread */
        if (r < 0)
            break;
    }
    vu_message_clear(&message);
    if (r == 0)
        log_info(LOG_FS_BACKEND, "front-end closed the connection");
    if (r >= 0)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                "vhost-user connection broken: %s", g_strerror(-r));
    return FALSE;
}

/* Return the protocol features to offer. With memory slots, QEMU sends the
 * memory to the device's first daemon only; without, each start of the device
 * sends all of it. */
static uint64_t offered_features(const struct vhost_user_config *config)
{
    return config->restartable ? PROTOCOL_FEATURES & ~VU_PROTOCOL_MEM_SLOTS
                               : PROTOCOL_FEATURES;
}

gboolean vhost_user_serve(struct fuse_server *server,
                          const struct vhost_user_config *config, int listen_fd,
                          int stop_fd, GError **error)
{
    struct vhost_user vu = { .server = server,
                             .offered = offered_features(config),
                             .connection = -1 };
    fd_auto int listening = listen_fd;
    gboolean ok;

    if (!wait_readable(listening, stop_fd))
        return TRUE;
    vu.connection = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (vu.connection < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "cannot accept the front-end: %s", g_strerror(errno));
        return FALSE;
    }
    fd_close(&listening);
    log_info(LOG_FS_BACKEND, "front-end connected");
    vu.rings = vhost_rings_new(server, config->pool_size);
    ok = run_connection(&vu, stop_fd, error);
    vhost_rings_free(vu.rings);
    fd_close(&vu.connection);
    return ok;
}
