/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_io - opcodes on the content of open files.
 *
 * READ and WRITE hand the client's own memory to the kernel: no byte of it is
 * looked at or copied here.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "common/fd.h"
#include "virtiofs/fuse/fuse_ops.h"

/* Reads of so much are worth the way to another thread. Writes are not: those
 * to one file wait for each other. */
#define MUCH_DATA (64u << 10)

/* How many bytes (0 or 1) there are here; -EAGAIN: that takes long. */
static int look_at(int fd, off_t offset)
{
    char byte;
    struct iovec iov = { &byte, 1 };
    ssize_t n = preadv2(fd, &iov, 1, offset, RWF_NOWAIT);

    return n < 0 ? -errno : (int)n;
}

/* After so many reads in turn that were, the next one is likely to be in the
 * host's memory, too. */
#define CACHED_LIKELY 8u

/* Much is not to be copied in vain: is its end there? The sum may be negative:
 * EINVAL. */
static bool is_likely_cached(const struct fuse_handle *handle, off_t offset,
                             size_t size)
{
    return size < MUCH_DATA ||
           atomic_load_explicit(&handle->n_cached, memory_order_relaxed) >=
               CACHED_LIKELY ||
           look_at(handle->fd, (off_t)((uint64_t)offset + size - 1)) != -EAGAIN;
}

static void note_cached(struct fuse_handle *handle, bool cached)
{
    unsigned n = atomic_load_explicit(&handle->n_cached, memory_order_relaxed);

    if (cached ? n < CACHED_LIKELY : n > 0)
        atomic_store_explicit(&handle->n_cached, cached ? n + 1 : 0,
                              memory_order_relaxed);
}

/* Read what lies in the host's memory: FUSE_LONG if that is not all of it. */
static ssize_t read_if_cached(struct fuse_handle *handle,
                              const struct iovec *iov, unsigned n_iov,
                              off_t offset, size_t size)
{
    ssize_t n;

    if (!is_likely_cached(handle, offset, size))
        return FUSE_LONG;
    n = preadv2(handle->fd, iov, (int)n_iov, offset, RWF_NOWAIT);
    if (n < 0 && errno == EOPNOTSUPP) {
        atomic_store(&handle->no_nowait, true);
        n = preadv(handle->fd, iov, (int)n_iov, offset);
    } else if (n < 0 && errno == EAGAIN) {
        return FUSE_LONG;
    } else if (n >= 0 && (size_t)n < size &&
               look_at(handle->fd, offset + n) != 0) {
        return FUSE_LONG; /* it is not the file's end */
    }
    return n < 0 ? -errno : n;
}

static ssize_t read_cached(struct fuse_handle *handle, const struct iovec *iov,
                           unsigned n_iov, off_t offset, size_t size)
{
    ssize_t n = read_if_cached(handle, iov, n_iov, offset, size);

    note_cached(handle, n != FUSE_LONG);
    return n;
}

static ssize_t read_file(const struct fuse_request *request,
                         struct fuse_handle *handle, const struct iovec *iov,
                         unsigned n_iov, off_t offset, size_t size)
{
    ssize_t n;

    if (!fuse_has_time(request, FUSE_PACE_ANY) &&
        !atomic_load_explicit(&handle->no_nowait, memory_order_relaxed))
        return read_cached(handle, iov, n_iov, offset, size);
    n = preadv(handle->fd, iov, (int)n_iov, offset);
    return n < 0 ? -errno : n;
}

int fuse_op_read(struct fuse_server *server, struct fuse_request *request,
                 struct fuse_node *node)
{
    const struct fuse_read_in *in = fuse_request_take(request, sizeof(*in));
    struct fuse_handle *handle;
    struct iovec *iov;
    unsigned n_iov;
    ssize_t n;
    int r = fuse_request_data_out(request, in->size, &iov, &n_iov);

    if (r < 0)
        return r;
    if (in->offset > INT64_MAX)
        return -EINVAL;
    if (in->size >= MUCH_DATA && !fuse_has_time(request, FUSE_PACE_SOON))
        return FUSE_LONG;
    handle = fuse_handles_get_file(server->handles, in->fh);
    if (!handle)
        return -EBADF;
    n = read_file(request, handle, iov, n_iov, (off_t)in->offset, in->size);
    fuse_handles_put(server->handles, handle);
    if (n < 0)
        return (int)n;
    fuse_request_replied(request, (size_t)n);
    return 0;
}

/* The client's open flags as they are at this write. Pages of its cache come
 * with an offset that counts, whatever the file behind them was opened as. */
static int write_flags(const struct fuse_write_in *in)
{
    int flags = 0;

    if ((in->flags & O_APPEND) && !(in->write_flags & FUSE_WRITE_CACHE))
        flags |= RWF_APPEND;
    if ((in->flags & O_SYNC) == O_SYNC)
        flags |= RWF_SYNC;
    else if (in->flags & O_DSYNC)
        flags |= RWF_DSYNC;
    return flags;
}

/* The client's kernel takes a file's capabilities away by itself where it has
 * pages to write to, and by FUSE_HANDLE_KILLPRIV_V2 not otherwise. */
static ssize_t write_file(struct fuse_server *server,
                          const struct fuse_write_in *in,
                          struct fuse_handle *handle, const struct iovec *iov,
                          unsigned n_iov)
{
    int r = handle->writable ? 0 : -EBADF;

    if (r == 0 && in->size > 0 && !(in->write_flags & FUSE_WRITE_CACHE))
        r = fuse_xattr_kill_capability(server, handle->inode);
    return r < 0 ? r
                 : ic_pwritev(server->ic, handle->inode, handle->fd, iov,
                              (int)n_iov, (off_t)in->offset, write_flags(in),
                              in->write_flags & FUSE_WRITE_KILL_SUIDGID);
}

int fuse_op_write(struct fuse_server *server, struct fuse_request *request,
                  struct fuse_node *node)
{
    const struct fuse_write_in *in = fuse_request_take(request, sizeof(*in));
    struct fuse_write_out out = { 0 };
    struct fuse_handle *handle;
    struct iovec *iov;
    unsigned n_iov;
    ssize_t n;
    int r = fuse_request_data_in(request, in->size, &iov, &n_iov);

    if (r < 0)
        return r;
    if (in->offset > INT64_MAX)
        return -EINVAL;
    if (in->flags & (O_SYNC | O_DSYNC) &&
        !fuse_has_time(request, FUSE_PACE_ANY))
        return FUSE_LONG;
    handle = fuse_handles_get_file(server->handles, in->fh);
    if (!handle)
        return -EBADF;
    n = write_file(server, in, handle, iov, n_iov);
    fuse_handles_put(server->handles, handle);
    if (n < 0)
        return (int)n;
    out.size = (uint32_t)n;
    return fuse_request_reply(request, &out, sizeof(out));
}

int fuse_op_fsync(struct fuse_server *server, struct fuse_request *request,
                  struct fuse_node *node)
{
    const struct fuse_fsync_in *in = fuse_request_take(request, sizeof(*in));
    struct fuse_handle *handle = fuse_handles_get_file(server->handles, in->fh);
    int r;

    if (!handle)
        return -EBADF;
    r = in->fsync_flags & FUSE_FSYNC_FDATASYNC ? fdatasync(handle->fd)
                                               : fsync(handle->fd);
    if (r < 0)
        r = -errno;
    fuse_handles_put(server->handles, handle);
    return r;
}

int fuse_op_fallocate(struct fuse_server *server, struct fuse_request *request,
                      struct fuse_node *node)
{
    const struct fuse_fallocate_in *in = fuse_request_take(request,
                                                           sizeof(*in));
    struct fuse_handle *handle;
    int r;

    if (in->offset > INT64_MAX || in->length > INT64_MAX)
        return -EINVAL;
    handle = fuse_handles_get_file(server->handles, in->fh);
    if (!handle)
        return -EBADF;
    r = handle->writable
            ? ic_fallocate(server->ic, handle->inode, handle->fd, (int)in->mode,
                           (off_t)in->offset, (off_t)in->length)
            : -EBADF;
    fuse_handles_put(server->handles, handle);
    return r;
}

int fuse_op_lseek(struct fuse_server *server, struct fuse_request *request,
                  struct fuse_node *node)
{
    const struct fuse_lseek_in *in = fuse_request_take(request, sizeof(*in));
    struct fuse_lseek_out out;
    struct fuse_handle *handle;
    off_t offset;
    int r = 0;

    /* The others need nothing of the host but the size, which GETATTR
     * gives. */
    if (in->whence != SEEK_DATA && in->whence != SEEK_HOLE)
        return -EINVAL;
    if (in->offset > INT64_MAX)
        return -ENXIO;
    handle = fuse_handles_get_file(server->handles, in->fh);
    if (!handle)
        return -EBADF;
    /* Nobody uses the descriptor's own position, so moving it is harmless. */
    offset = lseek(handle->fd, (off_t)in->offset, (int)in->whence);
    if (offset < 0)
        r = -errno;
    fuse_handles_put(server->handles, handle);
    if (r < 0)
        return r;
    out.offset = (uint64_t)offset;
    return fuse_request_reply(request, &out, sizeof(out));
}

/* Whoever asks for more gets a short copy, and asks again (copy_file_range(2)):
 * an undo, a step's end and whoever else wants the engine for itself wait for
 * one of these at most. */
#define COPY_AT_ONCE (16ull << 20)

static ssize_t copy_range(struct fuse_server *server,
                          const struct fuse_copy_file_range_in *in,
                          struct fuse_handle *from, struct fuse_handle *to)
{
    size_t length = MIN(in->len, COPY_AT_ONCE);

    if (!to->writable)
        return -EBADF;
    if (in->off_in > INT64_MAX || in->off_out > INT64_MAX)
        return -EINVAL;
    return ic_copy_file_range(server->ic, from->fd, (off_t)in->off_in,
                              to->inode, to->fd, (off_t)in->off_out, length,
                              (unsigned)in->flags);
}

int fuse_op_copy_file_range(struct fuse_server *server,
                            struct fuse_request *request,
                            struct fuse_node *node)
{
    const struct fuse_copy_file_range_in *in = fuse_request_take(request,
                                                                 sizeof(*in));
    struct fuse_write_out out = { 0 };
    struct fuse_handle *from = fuse_handles_get_file(server->handles,
                                                     in->fh_in);
    struct fuse_handle *to = fuse_handles_get_file(server->handles, in->fh_out);
    ssize_t n = -EBADF;

    if (from && to)
        n = copy_range(server, in, from, to);
    if (from)
        fuse_handles_put(server->handles, from);
    if (to)
        fuse_handles_put(server->handles, to);
    if (n < 0)
        return (int)n;
    out.size = (uint32_t)n;
    return fuse_request_reply(request, &out, sizeof(out));
}

int fuse_op_syncfs(struct fuse_server *server, struct fuse_request *request,
                   struct fuse_node *node)
{
    fd_auto int fd = openat(ic_inode_fd(ic_root(server->ic)), ".",
                            O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && syncfs(fd) == 0 ? 0 : -errno;
}
