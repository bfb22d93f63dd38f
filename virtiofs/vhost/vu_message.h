/* SPDX-License-Identifier: Apache-2.0
 *
 * vu_message - messages of the vhost-user protocol on their socket.
 *
 *      0       4       8       12
 *     | request | flags | size | payload, size bytes | + fds (SCM_RIGHTS)
 *
 * flags: bits 0-1 the version (1), bit 2 set in replies, bit 3 set if a reply
 * is wanted even to a request that has none of its own. All in host byte order.
 */
#ifndef VIRTIOFS_VHOST_VU_MESSAGE_H
#define VIRTIOFS_VHOST_VU_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "virtiofs/vhost/guest_memory.h"
#include "virtiofs/vhost/vhost_rings.h"

enum vu_request {
    VU_GET_FEATURES = 1,
    VU_SET_FEATURES = 2,
    VU_SET_OWNER = 3,
    VU_RESET_OWNER = 4,
    VU_SET_MEM_TABLE = 5,
    VU_SET_LOG_BASE = 6,
    VU_SET_VRING_NUM = 8,
    VU_SET_VRING_ADDR = 9,
    VU_SET_VRING_BASE = 10,
    VU_GET_VRING_BASE = 11,
    VU_SET_VRING_KICK = 12,
    VU_SET_VRING_CALL = 13,
    VU_SET_VRING_ERR = 14,
    VU_GET_PROTOCOL_FEATURES = 15,
    VU_SET_PROTOCOL_FEATURES = 16,
    VU_GET_QUEUE_NUM = 17,
    VU_SET_VRING_ENABLE = 18,
    VU_RESET_DEVICE = 34,
    VU_GET_MAX_MEM_SLOTS = 36,
    VU_ADD_MEM_REG = 37,
    VU_REM_MEM_REG = 38,
};

#define VU_VERSION      1u
#define VU_VERSION_MASK 3u
#define VU_REPLY        (1u << 2)
#define VU_NEED_REPLY   (1u << 3)

/* In the payload of SET_VRING_KICK, _CALL and _ERR: no fd is attached. */
#define VU_NO_FD (1u << 8)

#define VU_MAX_FDS           8
#define VU_MAX_TABLE_REGIONS 8

#define VU_F_LOG_ALL           (1ull << 26)
#define VU_F_PROTOCOL_FEATURES (1ull << 30)

#define VU_PROTOCOL_MQ           (1ull << 0)
#define VU_PROTOCOL_LOG_SHMFD    (1ull << 1)
#define VU_PROTOCOL_REPLY_ACK    (1ull << 3)
#define VU_PROTOCOL_RESET_DEVICE (1ull << 13)
#define VU_PROTOCOL_MEM_SLOTS    (1ull << 15)

union vu_payload {
    uint64_t number;
    struct {
        uint32_t index;
        uint32_t value;
    } ring;
    struct vhost_ring_addresses addresses;
    struct {
        uint32_t n_regions;
        uint32_t padding;
        struct guest_region regions[VU_MAX_TABLE_REGIONS];
    } table;
    struct {
        uint64_t padding;
        struct guest_region region;
    } slot;
    struct {
        uint64_t size;
        uint64_t offset;
    } log;
    char bytes[512]; /* the longest accepted payload */
};

struct vu_message {
    struct {
        uint32_t request;
        uint32_t flags;
        uint32_t size;
    } head;
    union vu_payload payload;
    int fds[VU_MAX_FDS];
    unsigned n_fds;
    size_t have; /* bytes read so far, with the head */
};

void vu_message_init(struct vu_message *message);

/* Read the available bytes of a message. Return 1 if it is complete (head.size
 * bytes of payload), -EAGAIN if some are missing (call again when the socket is
 * readable), 0 if the peer closed. Another -errno: the stream is broken. */
int vu_message_receive(int socket, struct vu_message *message);

/* Take the first fd; -1 if there is none. */
int vu_message_take_fd(struct vu_message *message);

/* Close the fds that were not taken, and prepare for the next message. */
void vu_message_clear(struct vu_message *message);

/* Answer this message with the first size bytes of its payload. Return 0 or
 * -errno. */
int vu_message_reply(int socket, struct vu_message *message, size_t size);

#endif
