/* SPDX-License-Identifier: Apache-2.0
 *
 * virtqueue - see virtqueue.h.
 *
 *     desc:  size * { le64 addr; le32 len; le16 flags; le16 next }
 *     avail: le16 flags; le16 idx; le16 ring[size]; le16 used_event
 *     used:  le16 flags; le16 idx; { le32 id; le32 len }[size];
 *            le16 avail_event
 */
#include "virtiofs/vhost/virtqueue.h"

#include <errno.h>
#include <glib.h>
#include <stdatomic.h>

#include "common/log.h"

_Static_assert(G_BYTE_ORDER == G_LITTLE_ENDIAN,
               "rings are little-endian and used as they are");

#define READ_ONCE(x)     __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)

void virtqueue_init(struct virtqueue *vq, const struct guest_memory *memory,
                    struct dirty_log *log)
{
    *vq = (struct virtqueue){ .memory = memory, .log = log };
}

int virtqueue_set_size(struct virtqueue *vq, unsigned size)
{
    if (size == 0 || size > VIRTQUEUE_MAX_SIZE || (size & (size - 1)) != 0)
        return -EINVAL;
    vq->size = size;
    return 0;
}

static size_t avail_bytes(const struct virtqueue *vq)
{
    return sizeof(struct vring_avail) + (vq->size + 1) * sizeof(uint16_t);
}

static size_t used_bytes(const struct virtqueue *vq)
{
    return sizeof(struct vring_used) +
           vq->size * sizeof(struct vring_used_elem) + sizeof(uint16_t);
}

static bool is_aligned(const void *p, size_t align)
{
    return p && (uintptr_t)p % align == 0;
}

int virtqueue_map(struct virtqueue *vq)
{
    void *desc, *avail, *used;

    vq->mapped = false;
    if (vq->size == 0 || !vq->has_addresses)
        return -EFAULT;
    desc = guest_memory_at_user(vq->memory, vq->desc_address,
                                vq->size * sizeof(struct vring_desc));
    avail = guest_memory_at_user(vq->memory, vq->avail_address,
                                 avail_bytes(vq));
    used = guest_memory_at_user(vq->memory, vq->used_address, used_bytes(vq));
    if (!is_aligned(desc, VRING_DESC_ALIGN_SIZE) ||
        !is_aligned(avail, VRING_AVAIL_ALIGN_SIZE) ||
        !is_aligned(used, VRING_USED_ALIGN_SIZE))
        return -EFAULT;
    vq->desc = desc;
    vq->avail = avail;
    vq->used = used;
    vq->mapped = true;
    return 0;
}

void virtqueue_start(struct virtqueue *vq)
{
    vq->used_idx = READ_ONCE(vq->used->idx);
    vq->signalled_valid = false;
    vq->broken = false;
}

static int break_queue(struct virtqueue *vq, const char *why)
{
    log_error(LOG_FS_BACKEND,
              "guest driver broke a virtqueue: %s; queue stopped", why);
    vq->broken = true;
    return -EPROTO;
}

static struct vring_desc read_desc(const struct vring_desc *table, unsigned i)
{
    return (struct vring_desc){
        .addr = READ_ONCE(table[i].addr),
        .len = READ_ONCE(table[i].len),
        .flags = READ_ONCE(table[i].flags),
        .next = READ_ONCE(table[i].next),
    };
}

/* Append a buffer, which may span several regions. */
static int append_buffer(struct virtqueue *vq, struct virtqueue_chain *chain,
                         const struct vring_desc *desc)
{
    bool writable = desc->flags & VRING_DESC_F_WRITE;
    uint64_t address = desc->addr;
    size_t left = desc->len;

    if (!writable && chain->n_out > 0)
        return break_queue(vq, "a readable buffer after a writable one");
    while (left > 0) {
        unsigned n = chain->n_in + chain->n_out;
        size_t len = left;
        void *p = guest_memory_at(vq->memory, address, &len);

        if (!p)
            return break_queue(vq, "a buffer outside memory");
        if (n == VIRTQUEUE_MAX_SEGMENTS)
            return break_queue(vq, "a request of too many pieces");
        chain->iov[n] = (struct iovec){ p, len };
        if (writable)
            chain->n_out++;
        else
            chain->n_in++;
        address += len;
        left -= len;
    }
    return 0;
}

/* Walk a chain in a table. The table's size bounds the steps, so a loop
 * ends. */
static int walk_chain(struct virtqueue *vq, struct virtqueue_chain *chain,
                      const struct vring_desc *table, unsigned table_size,
                      unsigned first, struct vring_desc *ret_indirect)
{
    unsigned i = first;

    ret_indirect->len = 0;
    for (unsigned steps = 0; steps < table_size; steps++) {
        struct vring_desc desc;
        int r;

        if (i >= table_size)
            return break_queue(vq, "a descriptor outside the table");
        desc = read_desc(table, i);
        if (desc.flags & VRING_DESC_F_INDIRECT) {
            if (table != vq->desc || (desc.flags & VRING_DESC_F_NEXT))
                return break_queue(vq, "a misplaced indirect table");
            *ret_indirect = desc;
            return 0;
        }
        r = append_buffer(vq, chain, &desc);
        if (r < 0)
            return r;
        if (!(desc.flags & VRING_DESC_F_NEXT))
            return 0;
        i = desc.next;
    }
    return break_queue(vq, "a loop of descriptors");
}

static int walk_indirect(struct virtqueue *vq, struct virtqueue_chain *chain,
                         const struct vring_desc *desc)
{
    struct vring_desc none;
    size_t len = desc->len;
    const void *table;

    if (len % sizeof(struct vring_desc) != 0 ||
        len / sizeof(struct vring_desc) > VIRTQUEUE_MAX_SIZE)
        return break_queue(vq, "an indirect table of odd length");
    table = guest_memory_at(vq->memory, desc->addr, &len);
    if (!table || len != desc->len || !is_aligned(table, 8))
        return break_queue(vq, "an indirect table outside memory");
    return walk_chain(vq, chain, table,
                      (unsigned)(len / sizeof(struct vring_desc)), 0, &none);
}

int virtqueue_again(struct virtqueue *vq, uint16_t head,
                    struct virtqueue_chain *chain)
{
    struct vring_desc indirect;
    int r;

    chain->head = head;
    chain->n_in = chain->n_out = 0;
    if (head >= vq->size)
        return break_queue(vq, "a descriptor outside the table");
    r = walk_chain(vq, chain, vq->desc, vq->size, head, &indirect);
    if (r == 0 && indirect.len > 0)
        r = walk_indirect(vq, chain, &indirect);
    return r < 0 ? r : 1;
}

unsigned virtqueue_outstanding(const struct virtqueue *vq)
{
    return (uint16_t)(vq->last_avail - vq->used_idx);
}

int virtqueue_pop(struct virtqueue *vq, struct virtqueue_chain *chain)
{
    uint16_t avail = __atomic_load_n(&vq->avail->idx, __ATOMIC_ACQUIRE);
    int r;

    if (avail == vq->last_avail)
        return 0;
    if ((uint16_t)(avail - vq->last_avail) > vq->size)
        return break_queue(vq, "more requests than the queue can hold");
    r = virtqueue_again(
        vq, READ_ONCE(vq->avail->ring[vq->last_avail % vq->size]), chain);
    if (r > 0)
        vq->last_avail++;
    return r;
}

bool virtqueue_has_more(const struct virtqueue *vq)
{
    return READ_ONCE(vq->avail->idx) != vq->last_avail;
}

static void log_used(struct virtqueue *vq, const void *p, size_t len)
{
    if (vq->log_used)
        dirty_log_mark(vq->log,
                       vq->used_log_address +
                           (uint64_t)((const char *)p - (char *)vq->used),
                       len);
}

/* Log all bytes that could have been written: a read that failed halfway wrote
 * more than its reply says. */
static void log_buffers(struct virtqueue *vq,
                        const struct virtqueue_chain *chain)
{
    for (unsigned i = chain->n_in; i < chain->n_in + chain->n_out; i++) {
        uint64_t address;

        if (guest_memory_address_of(vq->memory, chain->iov[i].iov_base,
                                    &address))
            dirty_log_mark(vq->log, address, chain->iov[i].iov_len);
    }
}

void virtqueue_push(struct virtqueue *vq, const struct virtqueue_chain *chain,
                    uint32_t len)
{
    struct vring_used_elem *elem = &vq->used->ring[vq->used_idx % vq->size];

    if (dirty_log_is_on(vq->log))
        log_buffers(vq, chain);
    WRITE_ONCE(elem->id, chain->head);
    WRITE_ONCE(elem->len, len);
    log_used(vq, elem, sizeof(*elem));
    vq->used_idx++;
    __atomic_store_n(&vq->used->idx, vq->used_idx, __ATOMIC_RELEASE);
    log_used(vq, &vq->used->idx, sizeof(vq->used->idx));
}

bool virtqueue_must_signal(struct virtqueue *vq)
{
    uint16_t old = vq->signalled;
    bool was_valid = vq->signalled_valid;

    /* used->idx must be visible before the driver's event is read. */
    atomic_thread_fence(memory_order_seq_cst);
    if (!vq->event_idx)
        return !(READ_ONCE(vq->avail->flags) & VRING_AVAIL_F_NO_INTERRUPT);
    vq->signalled = vq->used_idx;
    vq->signalled_valid = true;
    return !was_valid || vring_need_event(READ_ONCE(vq->avail->ring[vq->size]),
                                          vq->used_idx, old);
}

static uint16_t *avail_event(struct virtqueue *vq)
{
    return (uint16_t *)&vq->used->ring[vq->size];
}

void virtqueue_disable_kicks(struct virtqueue *vq)
{
    vq->kicks = false;
    /* With EVENT_IDX the old event index stays behind, and the driver sends no
     * kick until its index wraps around to it. */
    if (vq->event_idx)
        return;
    WRITE_ONCE(vq->used->flags, VRING_USED_F_NO_NOTIFY);
    log_used(vq, &vq->used->flags, sizeof(vq->used->flags));
}

bool virtqueue_enable_kicks(struct virtqueue *vq)
{
    if (vq->event_idx) {
        WRITE_ONCE(*avail_event(vq), vq->last_avail);
        log_used(vq, avail_event(vq), sizeof(uint16_t));
    } else {
        WRITE_ONCE(vq->used->flags, 0);
        log_used(vq, &vq->used->flags, sizeof(vq->used->flags));
    }
    /* The request for kicks must be visible before the index is read again:
     * either the device sees a new request here, or the driver sees the request
     * and kicks. */
    atomic_thread_fence(memory_order_seq_cst);
    vq->kicks = true;
    return virtqueue_has_more(vq);
}

bool virtqueue_is_idle(const struct virtqueue *vq)
{
    return vq->kicks && !virtqueue_has_more(vq);
}
