/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_io - handlers of the opcodes on the content of open files.
 *
 * READ and WRITE pass the client's own memory to the kernel; the server neither
 * inspects nor copies the data.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "common/fd.h"
#include "virtiofs/fuse/fuse_ops.h"

/* Reads of at least this many bytes are worth a handover to another thread.
 * Writes are not: writes to one file serialize anyway. */
#define LARGE_READ (64u << 10)

/* Return how many bytes (0 or 1) can be read at the offset, or -EAGAIN if the
 * read would block. */
static int probe_byte(int fd, off_t offset)
{
    char byte;
    struct iovec iov = { &byte, 1 };
    ssize_t n = preadv2(fd, &iov, 1, offset, RWF_NOWAIT);

    return n < 0 ? -errno : (int)n;
}

/* After this many consecutive reads from memory, the next read is likely to be
 * served from memory, too. */
#define CACHED_LIKELY 8u

/* Return whether a read is likely to be served from memory: a large copy must
 * not be wasted, so probe the read's last byte. The sum may overflow to a
 * negative offset, which preadv2() rejects with EINVAL. */
static bool is_likely_cached(const struct fuse_handle *handle, off_t offset,
                             size_t size)
{
    return size < LARGE_READ ||
           atomic_load_explicit(&handle->n_cached, memory_order_relaxed) >=
               CACHED_LIKELY ||
           probe_byte(handle->fd, (off_t)((uint64_t)offset + size - 1)) !=
               -EAGAIN;
}

static void note_cached(struct fuse_handle *handle, bool cached)
{
    unsigned n = atomic_load_explicit(&handle->n_cached, memory_order_relaxed);

    if (cached ? n < CACHED_LIKELY : n > 0)
        atomic_store_explicit(&handle->n_cached, cached ? n + 1 : 0,
                              memory_order_relaxed);
}

/* Read if the data is in the host's memory; return FUSE_LONG if some of it is
 * not. */
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
               probe_byte(handle->fd, offset + n) != 0) {
        return FUSE_LONG; /* not at end of file */
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
    if (in->size >= LARGE_READ && !fuse_has_time(request, FUSE_PACE_SOON))
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

/* Return the client's open flags at the time of this write. Pages from its
 * cache have an explicit offset, whatever flags the file was opened with. */
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

/* The client's kernel removes a file's capabilities itself when it writes back
 * pages; with FUSE_HANDLE_KILLPRIV_V2 it leaves all other cases to the
 * server. */
static ssize_t write_file(struct fuse_server *server, uint64_t undos,
                          const struct fuse_write_in *in,
                          struct fuse_handle *handle, const struct iovec *iov,
                          unsigned n_iov)
{
    bool kill_priv = in->write_flags & FUSE_WRITE_KILL_SUIDGID;
    int r = handle->writable ? 0 : -EBADF;

    if (r == 0 && (in->write_flags & FUSE_WRITE_CACHE))
        return ic_pwrite_pages(server->ic, handle->inode, handle->fd, iov,
                               (int)n_iov, (off_t)in->offset, write_flags(in),
                               kill_priv, undos);
    if (r == 0 && in->size > 0)
        r = fuse_xattr_kill_capability(server, handle->inode);
    return r < 0 ? r
                 : ic_pwritev(server->ic, handle->inode, handle->fd, iov,
                              (int)n_iov, (off_t)in->offset, write_flags(in),
                              kill_priv);
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
    n = write_file(server, request->scratch->undos, in, handle, iov, n_iov);
    if (n > 0)
        fuse_nodes_keep_name(server->nodes, handle->inode);
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

    return fuse_handles_sync(server->handles,
                             fuse_handles_get_file(server->handles, in->fh),
                             in->fsync_flags & FUSE_FSYNC_FDATASYNC);
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
    fuse_nodes_keep_name(server->nodes, handle->inode);
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

    /* Other whence values need only the file's size, which the client gets by
     * GETATTR. */
    if (in->whence != SEEK_DATA && in->whence != SEEK_HOLE)
        return -EINVAL;
    if (in->offset > INT64_MAX)
        return -ENXIO;
    handle = fuse_handles_get_file(server->handles, in->fh);
    if (!handle)
        return -EBADF;
    /* No other code uses the file position of this fd, so moving it is
     * harmless. */
    offset = lseek(handle->fd, (off_t)in->offset, (int)in->whence);
    if (offset < 0)
        r = -errno;
    fuse_handles_put(server->handles, handle);
    if (r < 0)
        return r;
    out.offset = (uint64_t)offset;
    return fuse_request_reply(request, &out, sizeof(out));
}

/* Upper bound of one copy, in bytes. A client that asks for more gets a short
 * copy and continues (copy_file_range(2)), so undo and the end of a step wait
 * for at most one such copy until they can lock the engine. */
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
    if (n > 0)
        fuse_nodes_keep_name(server->nodes, to->inode);
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
