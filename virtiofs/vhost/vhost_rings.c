/* SPDX-License-Identifier: Apache-2.0
 *
 * vhost_rings - see vhost_rings.h.
 *
 * A queue is created at its first message, and runs from SET_VRING_KICK on. Its
 * thread waits until the ring is enabled, mapped and complete; so the messages
 * may come in any order.
 *
 * gate: guards the memory, the log, and the members of struct queue_worker that
 * name it. A waiting writer is preferred, as busy workers would otherwise
 * starve it.
 */
#include "virtiofs/vhost/vhost_rings.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "virtiofs/vhost/queue_worker.h"

struct vhost_rings {
    struct fuse_server *server;
    unsigned pool_size;
    pthread_rwlock_t gate;
    struct guest_memory *memory;
    struct dirty_log log;
    bool event_idx, enable_all;
    struct queue_worker *workers[VHOST_RINGS_MAX];
};

struct vhost_rings *vhost_rings_new(struct fuse_server *server,
                                    unsigned pool_size)
{
    struct vhost_rings *rings = g_new0(struct vhost_rings, 1);
    pthread_rwlockattr_t attr;

    rings->server = server;
    rings->pool_size = pool_size;
    rings->memory = guest_memory_new();
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr,
                                  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&rings->gate, &attr);
    pthread_rwlockattr_destroy(&attr);
    return rings;
}

void vhost_rings_free(struct vhost_rings *rings)
{
    if (!rings)
        return;
    for (unsigned i = 0; i < VHOST_RINGS_MAX; i++)
        queue_worker_free(rings->workers[i]);
    guest_memory_free(rings->memory);
    dirty_log_unmap(&rings->log);
    pthread_rwlock_destroy(&rings->gate);
    g_free(rings);
}

static int find_worker(struct vhost_rings *rings, uint32_t index,
                       struct queue_worker **ret_worker)
{
    struct queue_worker *worker;

    if (index >= VHOST_RINGS_MAX)
        return -EINVAL;
    worker = rings->workers[index];
    if (!worker) {
        worker = queue_worker_new(index, rings->server, rings->pool_size,
                                  rings->memory, &rings->log, &rings->gate);
        if (!worker)
            return errno > 0 ? -errno : -EIO;
        worker->enabled = rings->enable_all;
        worker->vq.event_idx = rings->event_idx;
        rings->workers[index] = worker;
    }
    *ret_worker = worker;
    return 0;
}

static void lock_gate(struct vhost_rings *rings)
{
    pthread_rwlock_wrlock(&rings->gate);
}

/* Unlock the gate and make the workers look at the changed state: a former
 * request for kicks may have gone to another ring, or used another
 * mechanism. */
static void unlock_gate(struct vhost_rings *rings)
{
    for (unsigned i = 0; i < VHOST_RINGS_MAX; i++) {
        if (rings->workers[i])
            rings->workers[i]->vq.kicks = false;
    }
    pthread_rwlock_unlock(&rings->gate);
    for (unsigned i = 0; i < VHOST_RINGS_MAX; i++) {
        if (rings->workers[i])
            queue_thread_wake(rings->workers[i]->thread);
    }
}

/* Map a queue that was not mapped: it starts (or continues) at the ring's
 * indices. */
static void map_queue(struct queue_worker *worker)
{
    bool was_mapped = worker->vq.mapped;

    if (virtqueue_map(&worker->vq) != 0 || was_mapped)
        return;
    virtqueue_start(&worker->vq);
    queue_worker_check_parked(worker);
}

void vhost_rings_set_features(struct vhost_rings *rings, bool event_idx,
                              bool log_all, bool enable_all)
{
    lock_gate(rings);
    rings->event_idx = event_idx;
    rings->enable_all = enable_all;
    rings->log.enabled = log_all;
    for (unsigned i = 0; i < VHOST_RINGS_MAX; i++) {
        struct queue_worker *worker = rings->workers[i];

        if (!worker)
            continue;
        worker->vq.event_idx = event_idx;
        if (enable_all)
            worker->enabled = true;
    }
    unlock_gate(rings);
}

/* Map the rings again, which may have moved or vanished. The gate is held.
 * used_idx is kept while the ring runs, so it is not read again. */
static void remap_queues(struct vhost_rings *rings)
{
    for (unsigned i = 0; i < VHOST_RINGS_MAX; i++) {
        struct queue_worker *worker = rings->workers[i];

        if (worker && worker->running && worker->vq.mapped)
            virtqueue_map(&worker->vq);
        else if (worker && worker->running)
            map_queue(worker);
    }
}

int vhost_rings_set_memory(struct vhost_rings *rings,
                           const struct guest_region *regions, const int *fds,
                           unsigned n_regions)
{
    int r = 0;

    lock_gate(rings);
    guest_memory_clear(rings->memory);
    for (unsigned i = 0; i < n_regions && r == 0; i++)
        r = guest_memory_add(rings->memory, &regions[i], fds[i]);
    if (r < 0)
        guest_memory_clear(rings->memory);
    remap_queues(rings);
    unlock_gate(rings);
    return r;
}

int vhost_rings_add_memory(struct vhost_rings *rings,
                           const struct guest_region *region, int fd)
{
    int r;

    lock_gate(rings);
    r = guest_memory_add(rings->memory, region, fd);
    remap_queues(rings);
    unlock_gate(rings);
    return r;
}

int vhost_rings_remove_memory(struct vhost_rings *rings,
                              const struct guest_region *region)
{
    int r;

    lock_gate(rings);
    r = guest_memory_remove(rings->memory, region);
    remap_queues(rings);
    unlock_gate(rings);
    return r;
}

int vhost_rings_set_log(struct vhost_rings *rings, int fd, uint64_t offset,
                        uint64_t size)
{
    int r;

    lock_gate(rings);
    r = dirty_log_map(&rings->log, fd, offset, size);
    unlock_gate(rings);
    return r;
}

int vhost_rings_set_size(struct vhost_rings *rings, uint32_t index,
                         uint32_t size)
{
    struct queue_worker *worker;
    int r = find_worker(rings, index, &worker);

    if (r < 0)
        return r;
    /* The mapping and the indices in use depend on the size. */
    if (worker->running)
        return -EBUSY;
    lock_gate(rings);
    r = virtqueue_set_size(&worker->vq, size);
    worker->vq.mapped = false;
    unlock_gate(rings);
    return r;
}

int vhost_rings_set_base(struct vhost_rings *rings, uint32_t index,
                         uint32_t base)
{
    struct queue_worker *worker;
    int r = find_worker(rings, index, &worker);

    if (r < 0)
        return r;
    if (base > UINT16_MAX)
        return -EINVAL;
    lock_gate(rings);
    worker->vq.last_avail = (uint16_t)base;
    worker->vq.broken = false;
    unlock_gate(rings);
    return 0;
}

int vhost_rings_set_addresses(struct vhost_rings *rings,
                              const struct vhost_ring_addresses *addresses)
{
    struct queue_worker *worker;
    struct virtqueue *vq;
    int r = find_worker(rings, addresses->index, &worker);

    if (r < 0)
        return r;
    vq = &worker->vq;
    lock_gate(rings);
    vq->desc_address = addresses->desc;
    vq->avail_address = addresses->avail;
    vq->used_address = addresses->used;
    vq->used_log_address = addresses->used_log;
    vq->log_used = addresses->flags & 1;
    vq->has_addresses = true;
    if (worker->running)
        map_queue(worker);
    else
        r = virtqueue_map(vq); /* to report an error to the front-end; the ring
                                * starts later */
    vq->mapped = worker->running && vq->mapped;
    unlock_gate(rings);
    return r;
}

int vhost_rings_set_kick(struct vhost_rings *rings, uint32_t index, int fd)
{
    fd_auto int kick = fd;
    struct queue_worker *worker;
    int r = find_worker(rings, index, &worker);

    if (r < 0)
        return r;
    lock_gate(rings);
    if (!worker->running)
        map_queue(worker);
    unlock_gate(rings);
    return queue_worker_start(worker, fd_steal(&kick));
}

/* Replace an eventfd atomically under the same number, without the gate: QEMU
 * does that while the guest runs, when it masks an interrupt, and a request may
 * hold the gate as long as a disk access takes. */
static int replace_fd(struct vhost_rings *rings, int *slot, int fd)
{
    fd_auto int new_fd = fd;

    if (fd >= 0 && *slot >= 0 && dup3(fd, *slot, O_CLOEXEC) >= 0)
        return 0;
    lock_gate(rings);
    fd_close(slot);
    *slot = fd_steal(&new_fd);
    unlock_gate(rings);
    return 0;
}

/* Make an eventfd non-blocking: a full one is already signalled and must not
 * block the queue. */
static void set_nonblocking(int fd)
{
    int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

    if (flags >= 0 && !(flags & O_NONBLOCK))
        fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int vhost_rings_set_call(struct vhost_rings *rings, uint32_t index, int fd)
{
    fd_auto int call = fd;
    struct queue_worker *worker;
    int r = find_worker(rings, index, &worker);

    set_nonblocking(call);
    return r < 0 ? r : replace_fd(rings, &worker->call, fd_steal(&call));
}

int vhost_rings_set_err(struct vhost_rings *rings, uint32_t index, int fd)
{
    fd_auto int err = fd;
    struct queue_worker *worker;
    int r = find_worker(rings, index, &worker);

    set_nonblocking(err);
    return r < 0 ? r : replace_fd(rings, &worker->err, fd_steal(&err));
}

int vhost_rings_set_enable(struct vhost_rings *rings, uint32_t index,
                           bool enable)
{
    struct queue_worker *worker;
    int r = find_worker(rings, index, &worker);

    if (r < 0)
        return r;
    lock_gate(rings);
    worker->enabled = enable;
    unlock_gate(rings);
    return 0;
}

static void stop_worker(struct vhost_rings *rings, struct queue_worker *worker)
{
    queue_worker_stop(worker);
    lock_gate(rings);
    worker->vq.mapped = false;
    fd_close(&worker->call);
    unlock_gate(rings);
}

int vhost_rings_get_base(struct vhost_rings *rings, uint32_t index,
                         uint32_t *ret_base)
{
    struct queue_worker *worker;
    int r = find_worker(rings, index, &worker);

    if (r < 0)
        return r;
    stop_worker(rings, worker);
    *ret_base = worker->vq.last_avail;
    return 0;
}

void vhost_rings_reset(struct vhost_rings *rings)
{
    for (unsigned i = 0; i < VHOST_RINGS_MAX; i++) {
        if (!rings->workers[i])
            continue;
        stop_worker(rings, rings->workers[i]);
        queue_worker_drop_parked(rings->workers[i]);
        rings->workers[i]->enabled = rings->enable_all;
    }
}
