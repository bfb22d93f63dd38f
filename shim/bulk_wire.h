/* SPDX-License-Identifier: Apache-2.0
 *
 * bulk_wire - the frames on the virtio-serial port "bulk".
 *
 * The port carries the content of copies, several side by side. A frame is
 * BULK_HEADER bytes and a payload of at most BULK_MAX_PAYLOAD bytes:
 *
 *     bytes 0-3  the transfer's id, little-endian; never 0, never used twice
 *     byte  4    the type
 *     bytes 5-7  the payload's length, little-endian
 *
 * Host to guest:
 *
 *     BULK_OPEN    start a transfer: a byte of BULK_OPEN_* flags, then a path
 *                  (bytes without NUL, absolute)
 *     BULK_DATA    copy in: a part of the stream
 *     BULK_END     copy in: the stream is complete; no payload
 *     BULK_CREDIT  copy out: four bytes, the number of consumed bytes
 *     BULK_CANCEL  end the transfer; the guest's BULK_END or BULK_ERROR
 *                  follows
 *
 * Guest to host:
 *
 *     BULK_OPENED  the path was accepted; no payload
 *     BULK_DATA    copy out: a part of the stream
 *     BULK_CREDIT  copy in: four bytes, the number of consumed bytes
 *     BULK_END     success, and the last frame: eight bytes, the number of
 *                  entries, and eight bytes, the number of skipped ones
 *     BULK_ERROR   failure, and the last frame: the reason as text
 *
 * The stream is a tar archive. Flow control: a sender may have BULK_WINDOW
 * bytes of a transfer's data unacknowledged by BULK_CREDIT. So every receiver
 * has room for what arrives, never stops to read the port, and a slow transfer
 * delays no other.
 *
 * The request to start a transfer is a frame here and not a message on the
 * control port, so that one process of the guest serves the whole port, and
 * the two ports need no common order.
 */
#ifndef SHIM_BULK_WIRE_H
#define SHIM_BULK_WIRE_H

#include <stdint.h>

#define BULK_PORT_NAME "bulk"
#define BULK_PORT_PATH "/dev/virtio-ports/" BULK_PORT_NAME

enum {
    BULK_HEADER = 8,
    BULK_MAX_PAYLOAD = 64 * 1024,
    BULK_WINDOW = 1024 * 1024,
    BULK_MAX_TRANSFERS = 8,
    BULK_MAX_PATH = 4096, /* without a NUL */
    BULK_END_PAYLOAD = 16,
};

enum bulk_type {
    BULK_OPEN = 1,
    BULK_OPENED = 2,
    BULK_DATA = 3,
    BULK_CREDIT = 4,
    BULK_END = 5,
    BULK_ERROR = 6,
    BULK_CANCEL = 7,
};

enum bulk_open_flags {
    BULK_OPEN_IN = 1,         /* copy into the guest; otherwise out of it */
    BULK_OPEN_FOLLOW = 2,     /* out: if the path is a symbolic link, copy its
                                 target */
    BULK_OPEN_ARCHIVE = 4,    /* in: the path must be a directory */
    BULK_OPEN_KEEP_OWNER = 8, /* in: owners, set-id bits and device nodes as in
                                 the stream; otherwise root:root */
    BULK_OPEN_FLAGS = 15,
};

struct bulk_frame {
    uint32_t id;
    enum bulk_type type;
    uint32_t len;
};

static inline uint32_t bulk_get32(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static inline void bulk_put32(unsigned char *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
}

static inline uint64_t bulk_get64(const unsigned char *bytes)
{
    return bulk_get32(bytes) | (uint64_t)bulk_get32(bytes + 4) << 32;
}

static inline void bulk_put64(unsigned char *bytes, uint64_t value)
{
    bulk_put32(bytes, (uint32_t)value);
    bulk_put32(bytes + 4, (uint32_t)(value >> 32));
}

static inline void bulk_put_header(unsigned char *bytes,
                                   const struct bulk_frame *frame)
{
    bulk_put32(bytes, frame->id);
    bulk_put32(bytes + 4, (uint32_t)frame->type | frame->len << 8);
}

static inline struct bulk_frame bulk_get_header(const unsigned char *bytes)
{
    return (struct bulk_frame){
        .id = bulk_get32(bytes),
        .type = (enum bulk_type)bytes[4],
        .len = bulk_get32(bytes + 4) >> 8,
    };
}

#endif
