/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_rings - the device's queues and the guest's memory, as the front-end's
 * messages change them.
 *
 * Threads: all calls by the control thread; the workers are kept out by the
 * gate (see queue_worker.h).
 */
#ifndef VIRTIOFS_VHOST_VHOST_RINGS_H
#define VIRTIOFS_VHOST_VHOST_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "virtiofs/fuse/fuse_server.h"
#include "virtiofs/vhost/guest_memory.h"

/* One of high priority and the rest for requests. */
#define VHOST_RINGS_MAX 64

struct vhost_rings;

/* VHOST_USER_SET_VRING_ADDR's payload. */
struct vhost_ring_addresses {
    uint32_t index;
    uint32_t flags; /* bit 0: log writes of the used ring */
    uint64_t desc, used, avail;
    uint64_t used_log;
};

/* server is borrowed for the rings' life; pool_size: see queue_pool.h. */
struct vhost_rings *vhost_rings_new(struct fuse_server *server,
                                    unsigned pool_size);

/* Stops all queues. NULL is allowed. */
void vhost_rings_free(struct vhost_rings *rings);

/* Feature bits that concern the rings: EVENT_IDX and LOG_ALL. enable_all: the
 * front-end has no way to enable rings, so they all are. */
void vhost_rings_set_features(struct vhost_rings *rings, bool event_idx,
                              bool log_all, bool enable_all);

/* Memory: all regions anew (each with its fd, borrowed), or one more or less.
 * 0 or -errno. */
int vhost_rings_set_memory(struct vhost_rings *rings,
                           const struct guest_region *regions, const int *fds,
                           unsigned n_regions);
int vhost_rings_add_memory(struct vhost_rings *rings,
                           const struct guest_region *region, int fd);
int vhost_rings_remove_memory(struct vhost_rings *rings,
                              const struct guest_region *region);

/* The log of dirty pages; fd is borrowed. 0 or -errno. */
int vhost_rings_set_log(struct vhost_rings *rings, int fd, uint64_t offset,
                        uint64_t size);

/* What the messages of these names do to a ring. Each returns 0 or -errno:
 * -EINVAL for an index or value that cannot be. The fds are taken, also on
 * failure; -1 is none. */
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

/* Stop the ring, its request in work finished: and where it would go on.
 * Parked requests stay outstanding. */
int vhost_rings_get_base(struct vhost_rings *rings, uint32_t index,
                         uint32_t *ret_base);

/* Stop and disable all rings. */
void vhost_rings_reset(struct vhost_rings *rings);

#endif
