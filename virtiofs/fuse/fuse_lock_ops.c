/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_lock_ops - handlers of the lock opcodes, and of the closes that end
 * locks.
 */
#include <errno.h>
#include <fcntl.h>

#include "virtiofs/fuse/fuse_ops.h"

/* Return a reference to the inode of an open file or directory, or NULL if
 * there is no such handle. The caller releases the reference.
 */
static struct ic_inode *inode_of(struct fuse_server *server, uint64_t id)
{
    struct fuse_handle *handle = fuse_handles_get_file(server->handles, id);
    struct ic_inode *inode;

    if (!handle)
        handle = fuse_handles_get_dir(server->handles, id);
    if (!handle)
        return NULL;
    inode = ic_inode_ref(handle->inode);
    fuse_handles_put(server->handles, handle);
    return inode;
}

/* Return whether locks of this kind were offered to the client. A client may
 * request them anyway, and must not block the host's programs with them. */
static bool is_offered(const struct fuse_server *server,
                       const struct fuse_lk_in *in)
{
    return in->lk_flags & FUSE_LK_FLOCK ? server->config.flocks
                                        : server->config.posix_locks;
}

static struct file_lock to_lock(const struct fuse_lk_in *in)
{
    return (struct file_lock){ .owner = in->owner,
                               .start = in->lk.start,
                               .end = in->lk.end,
                               .type = in->lk.type,
                               .flock = in->lk_flags & FUSE_LK_FLOCK };
}

static int set_lock(struct fuse_server *server, struct fuse_request *request,
                    bool wait)
{
    const struct fuse_lk_in *in = fuse_request_take(request, sizeof(*in));
    struct file_lock lock = to_lock(in);
    struct ic_inode *inode;
    int r = -EBADF;

    if (!is_offered(server, in))
        return -ENOSYS;
    lock.session = file_locks_session(server->locks);
    inode = inode_of(server, in->fh);
    if (inode)
        r = file_locks_set(server->locks, inode, &lock, request->head.unique,
                           wait);
    ic_inode_unref(inode);
    return r;
}

int fuse_op_setlk(struct fuse_server *server, struct fuse_request *request,
                  struct fuse_node *node)
{
    return set_lock(server, request, false);
}

int fuse_op_setlkw(struct fuse_server *server, struct fuse_request *request,
                   struct fuse_node *node)
{
    return set_lock(server, request, true);
}

int fuse_op_getlk(struct fuse_server *server, struct fuse_request *request,
                  struct fuse_node *node)
{
    const struct fuse_lk_in *in = fuse_request_take(request, sizeof(*in));
    struct file_lock lock = to_lock(in);
    struct fuse_lk_out out = { 0 };
    struct ic_inode *inode;
    int r = -EBADF;

    if (!is_offered(server, in))
        return -ENOSYS;
    inode = inode_of(server, in->fh);
    if (inode)
        r = file_locks_test(server->locks, inode, &lock);
    ic_inode_unref(inode);
    out.lk = (struct fuse_file_lock){ .start = lock.start,
                                      .end = lock.end,
                                      .type = lock.type,
                                      .pid = lock.type == F_UNLCK ? in->lk.pid
                                                                  : lock.pid };
    return r < 0 ? r : fuse_request_reply(request, &out, sizeof(out));
}

/* A process closed the file: its locks end, whatever other fds it has on the
 * file (fcntl(2)). If the client handles locks itself, nothing remains to do,
 * as the server buffers no data; -ENOSYS then stops further FLUSH requests. The
 * client writes back its dirty pages at each close nevertheless. */
int fuse_op_flush(struct fuse_server *server, struct fuse_request *request,
                  struct fuse_node *node)
{
    const struct fuse_flush_in *in = fuse_request_take(request, sizeof(*in));
    struct ic_inode *inode;

    if (!server->config.posix_locks)
        return -ENOSYS;
    inode = inode_of(server, in->fh);
    if (!inode)
        return -EBADF;
    file_locks_drop(server->locks, inode, in->lock_owner, false);
    ic_inode_unref(inode);
    return 0;
}

void fuse_release_locks(struct fuse_server *server,
                        const struct fuse_release_in *in)
{
    struct ic_inode *inode;

    if (!(in->release_flags & FUSE_RELEASE_FLOCK_UNLOCK))
        return;
    inode = inode_of(server, in->fh);
    if (inode)
        file_locks_drop(server->locks, inode, in->lock_owner, true);
    ic_inode_unref(inode);
}
