/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_handles - see fuse_handles.h.
 */
#include "virtiofs/fuse/fuse_handles.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/fd.h"
#include "daemon/fd_reserve.h"
#include "virtiofs/fuse/slot_table.h"

struct fuse_handles {
    struct ic *ic;
    struct slot_table *slots;
};

static void destroy_handle(void *object)
{
    struct fuse_handle *handle = object;

    if (handle->dir)
        dir_stream_free(handle->dir);
    fd_close(&handle->fd);
    if (handle->writable)
        ic_write_closed(handle->ic, handle->write_span);
    ic_inode_unref(handle->inode);
    pthread_mutex_destroy(&handle->lock);
    g_free(handle);
}

struct fuse_handles *fuse_handles_new(struct ic *ic)
{
    struct fuse_handles *handles = g_new0(struct fuse_handles, 1);

    handles->ic = ic;
    handles->slots = slot_table_new(destroy_handle);
    return handles;
}

void fuse_handles_free(struct fuse_handles *handles)
{
    if (!handles)
        return;
    slot_table_free(handles->slots);
    g_free(handles);
}

int fuse_handles_add(struct fuse_handles *handles, int fd, int flags,
                     struct ic_inode *inode, uint64_t *ret_id)
{
    struct fuse_handle *handle = g_new(struct fuse_handle, 1);
    int r;

    *handle = (struct fuse_handle){
        .fd = fd,
        .writable = (flags & O_ACCMODE) != O_RDONLY,
        .readable = (flags & O_ACCMODE) != O_WRONLY,
        .ic = handles->ic,
        .inode = ic_inode_ref(inode),
    };
    if (handle->writable)
        handle->write_span = ic_write_opened(handles->ic);
    pthread_mutex_init(&handle->lock, NULL);
    if (S_ISDIR(ic_inode_type(inode)))
        handle->dir = dir_stream_new(fd);
    r = fd_reserve_check(handles->ic, fd);
    if (r == 0)
        r = slot_table_insert(handles->slots, handle, &handle->id, ret_id);
    if (r < 0)
        destroy_handle(handle);
    return r;
}

static struct fuse_handle *get_handle(struct fuse_handles *handles, uint64_t id,
                                      bool dir)
{
    struct fuse_handle *handle = slot_table_get(handles->slots, id);

    if (handle && (handle->dir != NULL) != dir) {
        slot_table_put(handles->slots, id);
        return NULL;
    }
    return handle;
}

struct fuse_handle *fuse_handles_get_file(struct fuse_handles *handles,
                                          uint64_t id)
{
    return get_handle(handles, id, false);
}

struct fuse_handle *fuse_handles_get_dir(struct fuse_handles *handles,
                                         uint64_t id)
{
    return get_handle(handles, id, true);
}

void fuse_handles_put(struct fuse_handles *handles, struct fuse_handle *handle)
{
    slot_table_put(handles->slots, handle->id);
}

int fuse_handles_sync(struct fuse_handles *handles, struct fuse_handle *handle,
                      bool data_only)
{
    int r;

    if (!handle)
        return -EBADF;
    r = data_only ? fdatasync(handle->fd) : fsync(handle->fd);
    if (r < 0)
        r = -errno;
    fuse_handles_put(handles, handle);
    return r;
}

int fuse_handles_remove(struct fuse_handles *handles, uint64_t id, bool dir)
{
    int r = -EBADF;

    if (get_handle(handles, id, dir)) {
        r = slot_table_remove(handles->slots, id) ? 0 : -EBADF;
        slot_table_put(handles->slots, id);
    }
    return r;
}

struct search {
    const struct ic_inode *inode;
    bool found;
};

static void compare_handle(void *object, void *opaque)
{
    const struct fuse_handle *handle = object;
    struct search *search = opaque;

    search->found = search->found || handle->inode == search->inode;
}

bool fuse_handles_has(struct fuse_handles *handles,
                      const struct ic_inode *inode)
{
    struct search search = { .inode = inode };

    slot_table_each(handles->slots, compare_handle, &search);
    return search.found;
}

struct visit {
    void (*each)(const struct ic_inode *inode, void *opaque);
    void *opaque;
};

static void visit_handle(void *object, void *opaque)
{
    const struct fuse_handle *handle = object;
    const struct visit *visit = opaque;

    if (handle->writable && handle->readable && !handle->dir)
        visit->each(handle->inode, visit->opaque);
}

void fuse_handles_each_mappable(struct fuse_handles *handles,
                                void (*each)(const struct ic_inode *inode,
                                             void *opaque),
                                void *opaque)
{
    struct visit visit = { each, opaque };

    slot_table_each(handles->slots, visit_handle, &visit);
}

void fuse_handles_clear(struct fuse_handles *handles)
{
    slot_table_clear(handles->slots, 1);
}
