/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_rings - the device's queues and the guest's memory, as the front-end's
 * messages change them.
 *
 * Threads: all calls by the control thread; the gate keeps the workers out (see
 * queue_worker.h).
 */
#ifndef VIRTIOFS_VHOST_VHOST_RINGS_H
#define VIRTIOFS_VHOST_VHOST_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "virtiofs/fuse/fuse_server.h"
#include "virtiofs/vhost/guest_memory.h"

/* One high-priority queue; the others are for requests. */
#define VHOST_RINGS_MAX 64

struct vhost_rings;

/* The payload of VHOST_USER_SET_VRING_ADDR. */
struct vhost_ring_addresses {
    uint32_t index;
    uint32_t flags; /* bit 0: log writes of the used ring */
    uint64_t desc, used, avail;
    uint64_t used_log;
};

/* server is borrowed for the lifetime of the rings; pool_size: see
 * queue_pool.h. */
struct vhost_rings *vhost_rings_new(struct fuse_server *server,
                                    unsigned pool_size);

/* Stops all queues. NULL is allowed. */
void vhost_rings_free(struct vhost_rings *rings);

/* Apply the feature bits that concern the rings: EVENT_IDX and LOG_ALL.
 * enable_all: the front-end has no message to enable rings, so all are
 * enabled. */
void vhost_rings_set_features(struct vhost_rings *rings, bool event_idx,
                              bool log_all, bool enable_all);

/* Replace all regions (each with its fd, borrowed), add or remove one. Return 0
 * or -errno. */
int vhost_rings_set_memory(struct vhost_rings *rings,
                           const struct guest_region *regions, const int *fds,
                           unsigned n_regions);
int vhost_rings_add_memory(struct vhost_rings *rings,
                           const struct guest_region *region, int fd);
int vhost_rings_remove_memory(struct vhost_rings *rings,
                              const struct guest_region *region);

/* Set the log of dirty pages; fd is borrowed. Return 0 or -errno. */
int vhost_rings_set_log(struct vhost_rings *rings, int fd, uint64_t offset,
                        uint64_t size);

/* Apply the messages of these names to a ring. Return 0 or -errno: -EINVAL for
 * an invalid index or value. The fds are taken, also on failure; -1 means
 * none. */
int vhost_rings_set_size(struct vhost_rings *rings, uint32_t index,
                         uint32_t size);
int vhost_rings_set_base(struct vhost_rings *rings, uint32_t index,
                         uint32_t base);
int vhost_rings_set_addresses(struct vhost_rings *rings,
                              const struct vhost_ring_addresses *addresses);
int vhost_rings_set_kick(struct vhost_rings *rings, uint32_t index, int fd);
int vhost_rings_set_call(struct vhost_rings *rings, uint32_t index, int fd);
int vhost_rings_set_err(struct vhost_rings *rings, uint32_t index, int fd);
int vhost_rings_set_enable(struct vhost_rings *rings, uint32_t index,
                           bool enable);

/* Stop the ring after its running requests finished, and return the index where
 * it would continue. Parked requests stay outstanding. */
int vhost_rings_get_base(struct vhost_rings *rings, uint32_t index,
                         uint32_t *ret_base);

/* Stop and disable all rings. */
void vhost_rings_reset(struct vhost_rings *rings);

#endif
