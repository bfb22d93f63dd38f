/* SPDX-License-Identifier: Apache-2.0
 *
 * virtqueue - the device's side of a split virtqueue in guest memory.
 *
 * Follows Virtio 1.2, section 2.7. All that lies in guest memory is hostile:
 * each field is read once, and every index, length and address is checked
 * before it is used. A driver that breaks the rules breaks its queue, which
 * then stays still until it is set up again.
 *
 * Threads: one at a time; the owner locks. But virtqueue_again() by any number
 * at the side of others, while nobody changes the set-up.
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
    uint64_t desc_address, avail_address, used_address; /* the front-end's */
    bool log_used;
    uint64_t used_log_address; /* the guest's */
    bool event_idx;

    /* The rings, while mapped. */
    bool mapped;
    const struct vring_desc *desc;
    struct vring_avail *avail;
    struct vring_used *used;

    uint16_t last_avail; /* the next entry of avail to take */
    uint16_t used_idx;   /* the next entry of used to fill */
    uint16_t signalled;  /* used_idx when the driver was last told */
    bool signalled_valid;
    bool kicks; /* asked for, of these rings; false: not known */
    atomic_bool broken;
};

/* A request: first n_in iovecs to read, then n_out to write. */
struct virtqueue_chain {
    uint16_t head;
    unsigned n_in, n_out;
    struct iovec iov[VIRTQUEUE_MAX_SEGMENTS];
};

void virtqueue_init(struct virtqueue *vq, const struct guest_memory *memory,
                    struct dirty_log *log);

/* Set the size: -EINVAL if it is not a power of two or too big. */
int virtqueue_set_size(struct virtqueue *vq, unsigned size);

/* Find the rings again after the addresses or the memory changed. 0, or
 * -EFAULT if they are not (all) in memory; the queue is then not mapped. */
int virtqueue_map(struct virtqueue *vq);

/* Start from what the used ring says; the queue must be mapped. */
void virtqueue_start(struct virtqueue *vq);

/* Take the next request. 1, 0 if there is none, or -EPROTO: the queue is
 * broken now. */
int virtqueue_pop(struct virtqueue *vq, struct virtqueue_chain *chain);

/* A request that was taken and not given back, once more: the driver may have
 * changed everything since. As virtqueue_pop(), but never 0. */
int virtqueue_again(struct virtqueue *vq, uint16_t head,
                    struct virtqueue_chain *chain);

/* How many requests the driver waits for, of those that were taken. */
unsigned virtqueue_outstanding(const struct virtqueue *vq);

/* Is there a request that was not taken yet? */
bool virtqueue_has_more(const struct virtqueue *vq);

/* Give a request back, len bytes of its writable part written. */
void virtqueue_push(struct virtqueue *vq, const struct virtqueue_chain *chain,
                    uint32_t len);

/* Does the driver want to hear of what was pushed since it was last told? */
bool virtqueue_must_signal(struct virtqueue *vq);

/* Ask the driver (not) to kick for new requests. enable returns true if one
 * is there already, for which no kick may come. */
void virtqueue_disable_kicks(struct virtqueue *vq);
bool virtqueue_enable_kicks(struct virtqueue *vq);

/* Is there nothing to do before the driver kicks? */
bool virtqueue_is_idle(const struct virtqueue *vq);

#endif
