/* SPDX-License-Identifier: Apache-2.0
 *
 * virtqueue - the device's side of a split virtqueue in guest memory.
 *
 * Follows Virtio 1.2, section 2.7. Everything in guest memory is hostile: each
 * field is read once, and every index, length and address is checked before its
 * use. A driver that violates the rules breaks its queue, which then stays
 * stopped until it is set up again.
 *
 * Threads: one at a time; the owner locks. Exception: any number of threads may
 * run virtqueue_again() concurrently with another call, while the set-up does
 * not change.
 */
#ifndef VIRTIOFS_VHOST_VIRTQUEUE_H
#define VIRTIOFS_VHOST_VIRTQUEUE_H

#include <linux/virtio_ring.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "virtiofs/vhost/dirty_log.h"
#include "virtiofs/vhost/guest_memory.h"

#define VIRTQUEUE_MAX_SIZE     32768u
#define VIRTQUEUE_MAX_SEGMENTS 1024u

struct virtqueue {
    const struct guest_memory *memory; /* borrowed */
    struct dirty_log *log;             /* borrowed */

    /* Set up by the front-end. */
    unsigned size; /* a power of two; 0: not set */
    bool has_addresses;
    uint64_t desc_address, avail_address, used_address; /* front-end
                                                         * addresses */
    bool log_used;
    uint64_t used_log_address; /* a guest address */
    bool event_idx;

    /* The rings, while mapped. */
    bool mapped;
    const struct vring_desc *desc;
    struct vring_avail *avail;
    struct vring_used *used;

    uint16_t last_avail; /* the next entry of avail to take */
    uint16_t used_idx;   /* the next entry of used to fill */
    uint16_t signalled;  /* used_idx at the last signal to the driver */
    bool signalled_valid;
    bool kicks; /* requested on these rings; false: unknown */
    atomic_bool broken;
};

/* A request: n_in readable iovecs, then n_out writable ones. */
struct virtqueue_chain {
    uint16_t head;
    unsigned n_in, n_out;
    struct iovec iov[VIRTQUEUE_MAX_SEGMENTS];
};

void virtqueue_init(struct virtqueue *vq, const struct guest_memory *memory,
                    struct dirty_log *log);

/* Set the size. Return -EINVAL if it is not a power of two or too large. */
int virtqueue_set_size(struct virtqueue *vq, unsigned size);

/* Map the rings again after the addresses or the memory changed. Return 0, or
 * -EFAULT if they are not (all) in memory; the queue is then not mapped. */
int virtqueue_map(struct virtqueue *vq);

/* Start at the used ring's index; the queue must be mapped. */
void virtqueue_start(struct virtqueue *vq);

/* Take the next request. Return 1, 0 if there is none, or -EPROTO: the queue is
 * broken now. */
int virtqueue_pop(struct virtqueue *vq, struct virtqueue_chain *chain);

/* Walk a request again that was taken and not pushed: the driver may have
 * changed everything since. Return as virtqueue_pop(), but never 0. */
int virtqueue_again(struct virtqueue *vq, uint16_t head,
                    struct virtqueue_chain *chain);

/* Return the number of taken requests that the driver still waits for. */
unsigned virtqueue_outstanding(const struct virtqueue *vq);

/* Return whether there is a request that was not taken yet. */
bool virtqueue_has_more(const struct virtqueue *vq);

/* Complete a request, with len bytes of its writable part written. */
void virtqueue_push(struct virtqueue *vq, const struct virtqueue_chain *chain,
                    uint32_t len);

/* Return whether the driver wants a signal for the requests pushed since the
 * last one. */
bool virtqueue_must_signal(struct virtqueue *vq);

/* Ask the driver (not) to kick for new requests. virtqueue_enable_kicks()
 * returns true if a request is pending already, for which no kick may come. */
void virtqueue_disable_kicks(struct virtqueue *vq);
bool virtqueue_enable_kicks(struct virtqueue *vq);

/* Return whether there is nothing to do until the driver kicks. */
bool virtqueue_is_idle(const struct virtqueue *vq);

#endif
