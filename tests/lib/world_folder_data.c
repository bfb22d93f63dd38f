/* SPDX-License-Identifier: Apache-2.0
 *
 * world_folder_data - see world_folder.h: content and handles.
 */
#include "tests/lib/world_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct handle {
    struct ic_inode *inode;
    int fd;
    bool appends, writes;
    uint32_t writer; /* if it writes */
};

/* inode and fd are taken. */
static struct handle *handle_new(struct folder *f, struct ic_inode *inode,
                                 int fd, int flags)
{
    struct handle *handle = g_new0(struct handle, 1);

    handle->inode = inode;
    handle->fd = fd;
    handle->appends = flags & O_APPEND;
    handle->writes = (flags & O_ACCMODE) != O_RDONLY;
    if (handle->writes)
        handle->writer = ic_write_opened(f->ic);
    return handle;
}

static int open_file(struct world *w, const char *path, int flags,
                     void **ret_handle)
{
    struct folder *f = w->state;
    struct ic_inode *inode;
    int fd, rc = folder_resolve(f, path, &inode);

    if (rc < 0)
        return rc;
    rc = ic_open(f->ic, inode, flags, &fd);
    if (rc < 0)
        ic_inode_unref(inode);
    else
        *ret_handle = handle_new(f, inode, fd, flags);
    return rc;
}

void *folder_open(struct world *w, const char *path, int flags)
{
    void *handle = NULL;

    errno = -open_file(w, path, flags, &handle);
    return handle;
}

void *folder_tmpfile(struct world *w, const char *dir, int flags)
{
    struct folder *f = w->state;
    struct ic_inode *parent, *inode;
    int fd, rc = folder_resolve(f, dir, &parent);

    if (rc == 0) {
        rc = ic_tmpfile(f->ic, &f->cred, parent, flags, 0640, &inode, NULL,
                        &fd);
        ic_inode_unref(parent);
    }
    errno = -rc;
    return rc == 0 ? handle_new(f, inode, fd, flags) : NULL;
}

static int write_handle(struct folder *f, struct handle *handle,
                        const void *data, size_t len, off_t offset,
                        bool kill_priv)
{
    struct iovec iov = { (void *)data, len };
    ssize_t n = ic_pwritev(f->ic, handle->inode, handle->fd, &iov, 1, offset,
                           handle->appends ? RWF_APPEND : 0, kill_priv);

    return n < 0 ? (int)n : 0;
}

int folder_write(struct world *w, void *handle, const void *data, size_t len,
                 off_t offset)
{
    return write_handle(w->state, handle, data, len, offset, false);
}

/* The engine does not check rights; the client's kernel does. */
int folder_write_as(struct world *w, const char *path, G_GNUC_UNUSED uid_t uid,
                    const void *data, size_t len, off_t offset)
{
    struct handle *handle = folder_open(w, path, O_RDWR);
    int rc;

    if (!handle)
        return -errno;
    rc = write_handle(w->state, handle, data, len, offset, true);
    folder_close(w, handle);
    return rc;
}

int folder_mmap_write(G_GNUC_UNUSED struct world *w,
                      G_GNUC_UNUSED const char *path,
                      G_GNUC_UNUSED const void *data, G_GNUC_UNUSED size_t len,
                      G_GNUC_UNUSED off_t offset)
{
    return -EOPNOTSUPP; /* the client's kernel implements mappings */
}

int folder_handle_truncate(struct world *w, void *opaque, off_t size)
{
    struct ic_setattr attr = { .valid = IC_SET_SIZE, .size = size };
    struct folder *f = w->state;
    struct handle *handle = opaque;

    return ic_setattr(f->ic, handle->inode, handle->fd, &attr, NULL);
}

int folder_handle_link(struct world *w, void *opaque, const char *path)
{
    struct folder *f = w->state;
    struct handle *handle = opaque;
    struct ic_inode *dir;
    const char *name;
    int rc = folder_resolve_parent(f, path, &dir, &name);

    if (rc < 0)
        return rc;
    rc = ic_linkat(f->ic, handle->inode, dir, name, NULL);
    ic_inode_unref(dir);
    return rc;
}

int folder_handle_stat(struct world *w, void *opaque, struct stat *ret_stat)
{
    struct folder *f = w->state;
    struct handle *handle = opaque;

    return ic_stat(f->ic, handle->inode, ret_stat);
}

void folder_close(struct world *w, void *opaque)
{
    struct handle *handle = opaque;
    struct ic *ic = world_folder_ic(w);

    close(handle->fd);
    if (handle->writes && ic)
        ic_write_closed(ic, handle->writer);
    ic_inode_unref(handle->inode);
    g_free(handle);
}

int folder_fallocate(struct world *w, const char *path, int mode, off_t offset,
                     off_t len)
{
    struct folder *f = w->state;
    struct handle *handle = folder_open(w, path, O_RDWR);
    int rc;

    if (!handle)
        return -errno;
    rc = ic_fallocate(f->ic, handle->inode, handle->fd, mode, offset, len);
    folder_close(w, handle);
    return rc;
}

int folder_copy_range(struct world *w, const char *from, const char *to,
                      off_t from_offset, off_t to_offset, size_t len)
{
    struct folder *f = w->state;
    struct handle *in = folder_open(w, from, O_RDONLY), *out;
    ssize_t n;

    if (!in)
        return -errno;
    out = folder_open(w, to, O_RDWR);
    n = -errno;
    if (out) {
        n = ic_copy_file_range(f->ic, in->fd, from_offset, out->inode, out->fd,
                               to_offset, len, 0);
        folder_close(w, out);
    }
    folder_close(w, in);
    return n < 0 ? (int)n : 0;
}
