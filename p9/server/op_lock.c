/* SPDX-License-Identifier: Apache-2.0
 *
 * op_lock - handlers of byte-range locks and flock(2).
 *
 * An owner is a process of a client of a connection. As with fcntl(2), closing
 * a file (Tclunk of a fid through which it was locked) drops the owner's locks
 * on it. A waiting Tlock is answered when it gets the lock, and a Tflush ends
 * it; if its fid was clunked in the meantime, it fails with EBADF.
 *
 * The protocol has no flock(2): Linux sends a lock of the whole file by the
 * calling process, which need not be the one that unlocks it. But Linux then
 * sets the wait flag on the unlock, where it has no meaning, and does not set
 * it when a process unlocks its own lock (fcntl(2) with F_SETLK), or closes an
 * inherited file. So unlocking a whole file with that flag ends all whole-file
 * locks that any process of the client took through the fid. Known deviations:
 * fcntl(2) with F_SETLKW and F_UNLCK does that, too; flock(2) with LOCK_UN |
 * LOCK_NB does not; and another process cannot convert an open file's flock(2)
 * from shared to exclusive, but waits for it.
 */
#include <errno.h>
#include <fcntl.h>

#include "p9/server/lock_owners.h"
#include "p9/server/request.h"

enum { MAX_OWNERS = 256 }; /* per fid */

static int to_lock(struct p9_request *request, struct file_lock *ret_lock)
{
    static const uint32_t types[] = { F_RDLCK, F_WRLCK, F_UNLCK };
    const struct p9_message *m = &request->m;
    uint64_t length = m->lock.length;

    if (m->lock.type >= G_N_ELEMENTS(types) || m->lock.start > INT64_MAX)
        return -EINVAL;
    *ret_lock = (struct file_lock){ .start = m->lock.start,
                                    .end = INT64_MAX,
                                    .type = types[m->lock.type] };
    if (length > 0 && length <= INT64_MAX - m->lock.start)
        ret_lock->end = m->lock.start + length - 1;
    return p9_lock_owners_find(request->owners, &m->lock.client_id,
                               m->lock.proc_id, &ret_lock->owner);
}

static bool is_whole(const struct file_lock *lock)
{
    return lock->start == 0 && lock->end == INT64_MAX;
}

/* Record the owner before it locks, so that no lock outlives its fid. */
static int remember_owner(struct p9_fid *fid, const struct file_lock *lock)
{
    struct p9_fid_owner new = { lock->owner, is_whole(lock) };
    struct p9_fid_owner *known = NULL;
    bool full;

    pthread_mutex_lock(&fid->lock);
    if (!fid->owners)
        fid->owners = g_array_new(FALSE, FALSE, sizeof(new));
    for (guint i = 0; !known && i < fid->owners->len; i++) {
        known = &g_array_index(fid->owners, struct p9_fid_owner, i);
        if (known->id != lock->owner)
            known = NULL;
    }
    full = !known && fid->owners->len >= MAX_OWNERS;
    if (known)
        known->whole |= new.whole;
    else if (!full)
        g_array_append_val(fid->owners, new);
    pthread_mutex_unlock(&fid->lock);
    return full ? -ENOLCK : 0;
}

/* Return whether the lock was taken by another process of the same client. */
static bool is_flocked(const struct p9_fid_owner *owner,
                       const struct file_lock *lock, bool waits)
{
    return waits && owner->whole && owner->id >> 32 == lock->owner >> 32;
}

/* Unlock the whole file: the owner's locks and the flock() locks. Forget owners
 * without remaining locks. */
static int unlock_whole(struct p9_request *request, struct p9_fid *fid,
                        const struct file_lock *lock)
{
    struct file_locks *locks = request->server->locks;
    bool waits = request->m.lock.flags & P9_LOCK_WAIT;
    int r = file_locks_set(locks, fid->inode, lock, request->serial, false);

    pthread_mutex_lock(&fid->lock);
    for (guint i = fid->owners ? fid->owners->len : 0; r == 0 && i > 0; i--) {
        struct p9_fid_owner *owner = &g_array_index(fid->owners,
                                                    struct p9_fid_owner, i - 1);
        struct file_lock its = *lock;

        its.owner = owner->id;
        if (is_flocked(owner, lock, waits))
            r = file_locks_set(locks, fid->inode, &its, request->serial, false);
        else if (owner->id != lock->owner)
            continue;
        if (!file_locks_has_owner(locks, fid->inode, owner->id))
            g_array_remove_index_fast(fid->owners, i - 1);
    }
    pthread_mutex_unlock(&fid->lock);
    return r;
}

/* Forget the owner if it unlocked its last range. */
static void forget_owner(struct p9_request *request, struct p9_fid *fid,
                         uint64_t owner)
{
    bool holds = file_locks_has_owner(request->server->locks, fid->inode,
                                      owner);

    pthread_mutex_lock(&fid->lock);
    for (guint i = fid->owners && !holds ? fid->owners->len : 0; i > 0; i--) {
        if (g_array_index(fid->owners, struct p9_fid_owner, i - 1).id == owner)
            g_array_remove_index_fast(fid->owners, i - 1);
    }
    pthread_mutex_unlock(&fid->lock);
}

static int set_lock(struct p9_request *request, struct p9_fid *fid)
{
    const struct p9_message *m = &request->m;
    struct file_lock lock;
    int r = to_lock(request, &lock);

    if (fid->kind != P9_FID_FILE && fid->kind != P9_FID_DIR)
        return -EBADF;
    if (m->lock.flags & ~(uint32_t)(P9_LOCK_WAIT | P9_LOCK_RECLAIM))
        r = -EINVAL;
    if (r == 0 && lock.type == F_UNLCK && is_whole(&lock))
        return unlock_whole(request, fid, &lock);
    if (r == 0 && lock.type != F_UNLCK)
        r = remember_owner(fid, &lock);
    if (r == 0)
        r = file_locks_set(request->server->locks, fid->inode, &lock,
                           request->serial, m->lock.flags & P9_LOCK_WAIT);
    if (r == 0 && lock.type == F_UNLCK)
        forget_owner(request, fid, lock.owner);
    return r;
}

/* Return whether the fid was clunked while the request waited; its locks then
 * end with it. */
static bool is_gone(struct p9_request *request)
{
    struct p9_fid *fid = p9_fids_get(request->fids, request->m.lock.fid);
    bool gone = fid != request->held;

    p9_fid_unref(fid);
    return gone;
}

/* Keep a reference to the fid while the request waits: its number may be
 * reused. */
int p9_op_lock(struct p9_request *request)
{
    int r;

    if (!request->held)
        request->held = p9_fids_get(request->fids, request->m.lock.fid);
    if (!request->held || is_gone(request))
        return -EBADF;
    r = ic_inode_use(request->server->ic, request->held->inode);
    if (r < 0)
        return r;
    r = set_lock(request, request->held);
    ic_inode_unref(request->held->inode);
    request->r.status = r == -EAGAIN ? P9_LOCK_BLOCKED : P9_LOCK_SUCCESS;
    return r == -EAGAIN ? 0 : r;
}

static int test_lock(struct p9_request *request, struct p9_fid *fid)
{
    const struct p9_message *m = &request->m;
    struct p9_message *r = &request->r;
    struct file_lock lock;
    int rc = to_lock(request, &lock);

    if (fid->kind != P9_FID_FILE && fid->kind != P9_FID_DIR)
        return -EBADF;
    if (rc == 0)
        rc = file_locks_test(request->server->locks, fid->inode, &lock);
    if (rc < 0)
        return rc;
    r->lock = m->lock;
    r->lock.type = lock.type == F_RDLCK   ? P9_LOCK_READ
                   : lock.type == F_WRLCK ? P9_LOCK_WRITE
                                          : P9_LOCK_UNLOCK;
    if (lock.type == F_UNLCK)
        return 0;
    r->lock.start = lock.start;
    r->lock.length = lock.end >= INT64_MAX ? 0 : lock.end - lock.start + 1;
    r->lock.proc_id = lock.pid;
    r->lock.client_id = p9_string("");
    return 0;
}

int p9_op_getlock(struct p9_request *request)
{
    struct p9_fid *fid;
    int r = p9_request_fid(request, request->m.lock.fid, &fid);

    if (r == 0)
        r = test_lock(request, fid);
    p9_request_put(fid);
    return r;
}
