/* SPDX-License-Identifier: Apache-2.0
 *
 * op_lock - locks of byte ranges.
 *
 * An owner is a process of a client of a connection. As with fcntl(2), closing
 * a file (Tclunk of a fid through which it was locked) drops the owner's locks
 * of it. A Tlock that waits is answered when it has the lock, and a Tflush ends
 * it.
 */
#include <errno.h>
#include <fcntl.h>

#include "p9/conn.h"

enum { MAX_OWNERS = 256 }; /* that lock through one fid */

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
    return p9_conn_lock_owner(request->conn, &m->lock.client_id,
                              m->lock.proc_id, &ret_lock->owner);
}

/* Remembered before there is a lock, so that none outlives its fid. */
static int remember_owner(struct p9_fid *fid, uint64_t owner)
{
    bool known = false, full;

    pthread_mutex_lock(&fid->lock);
    if (!fid->owners)
        fid->owners = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    for (guint i = 0; !known && i < fid->owners->len; i++)
        known = g_array_index(fid->owners, uint64_t, i) == owner;
    full = fid->owners->len >= MAX_OWNERS;
    if (!known && !full)
        g_array_append_val(fid->owners, owner);
    pthread_mutex_unlock(&fid->lock);
    return known || !full ? 0 : -ENOLCK;
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
    if (r == 0)
        r = remember_owner(fid, lock.owner);
    if (r == 0)
        r = file_locks_set(request->server->locks, fid->inode, &lock,
                           request->serial, m->lock.flags & P9_LOCK_WAIT);
    return r;
}

int p9_op_lock(struct p9_request *request)
{
    struct p9_fid *fid;
    int r = p9_request_fid(request, request->m.lock.fid, &fid);

    if (r == 0)
        r = set_lock(request, fid);
    p9_request_put(fid);
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
