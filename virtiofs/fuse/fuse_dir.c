/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_dir - handlers of the opcodes on open directories.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "daemon/fd_reserve.h"
#include "virtiofs/fuse/fuse_ops.h"

int fuse_op_opendir(struct fuse_server *server, struct fuse_request *request,
                    struct fuse_node *node)
{
    struct fuse_open_out out = { 0 };
    int fd = -1, r;

    if (!S_ISDIR(ic_inode_type(node->inode)))
        return -ENOTDIR;
    r = fuse_core_guard(server, request->head.pid, node, node);
    if (r == 0)
        r = fd_reserve_room(server->ic);
    if (r == 0)
        r = ic_open(server->ic, node->inode, O_RDONLY | O_DIRECTORY, &fd);
    if (r < 0)
        return r;
    out.open_flags = fuse_entry_dir_flags(server, node, fd);
    r = fuse_handles_add(server->handles, fd, O_RDONLY, node->inode, &out.fh);
    if (r < 0)
        return r;
    return fuse_request_reply(request, &out, sizeof(out));
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Builds the entries of a reply; size is limited by the client's request and by
 * the room in the reply. */
struct dir_reply {
    struct fuse_server *server;
    struct ic_inode *dir;
    bool plus;
    char *buffer;
    size_t used, size;
};

/* Append an entry. Return 1 if it was appended, 0 if it does not fit, -ENOENT
 * if the name was removed in the meantime. */
static int append_entry(struct dir_reply *reply, const struct dir_entry *entry)
{
    size_t name_len = strlen(entry->name);
    size_t head = reply->plus ? sizeof(struct fuse_entry_out) : 0;
    size_t size = FUSE_DIRENT_ALIGN(head + FUSE_NAME_OFFSET + name_len);
    char *at = reply->buffer + reply->used;
    struct fuse_dirent *dirent = (struct fuse_dirent *)(at + head);

    if (size > reply->size - reply->used)
        return 0;
    memset(at, 0, size);
    if (reply->plus && !is_dots(entry->name)) {
        struct fuse_entry_out *out = (struct fuse_entry_out *)at;
        struct ic_inode *inode;
        struct stat st;
        int r = ic_lookup_lazy(reply->server->ic, reply->dir, entry->name,
                               &inode, &st);

        if (r == 0)
            r = fuse_entry_fill_held(reply->server, reply->dir, inode, &st,
                                     out);
        if (r == 0)
            fuse_entry_mark_submount(reply->server, reply->dir, &st,
                                     &out->attr);
        if (r == -ENOENT)
            return r;
        /* Node 0 means a name without attributes: the client looks the name up
         * when it needs it, and gets the error then. */
    }
    dirent->ino = entry->ino;
    dirent->off = (uint64_t)entry->off;
    dirent->namelen = (uint32_t)name_len;
    dirent->type = entry->type;
    memcpy(dirent->name, entry->name, name_len);
    reply->used += size;
    return 1;
}

/* Append entries until the reply is full or the directory ends. An error after
 * the first entry is left to the next request. */
static int append_entries(struct dir_reply *reply, struct dir_stream *stream,
                          uint64_t offset)
{
    const struct dir_entry *entry = NULL;
    int r = dir_stream_seek(stream, (int64_t)offset);

    if (r < 0)
        return r;
    while ((r = dir_stream_peek(stream, &entry)) > 0) {
        r = append_entry(reply, entry);
        if (r == 0)
            return reply->used ? 0 : -EINVAL;
        dir_stream_advance(stream);
    }
    return reply->used ? 0 : r;
}

static int read_directory(struct fuse_server *server,
                          struct fuse_request *request, bool plus)
{
    const struct fuse_read_in *in = fuse_request_take(request, sizeof(*in));
    struct dir_reply reply = {
        .server = server,
        .plus = plus,
        .buffer = request->scratch->buffer,
        .size = MIN(in->size, fuse_request_room(request)),
    };
    struct fuse_handle *handle = fuse_handles_get_dir(server->handles, in->fh);
    int r;

    if (!handle)
        return -EBADF;
    reply.dir = handle->inode;
    reply.size = MIN(reply.size, FUSE_BUFFER_SIZE);
    pthread_mutex_lock(&handle->lock);
    r = append_entries(&reply, handle->dir, in->offset);
    dir_stream_pause(handle->dir);
    pthread_mutex_unlock(&handle->lock);
    fuse_handles_put(server->handles, handle);
    if (r < 0)
        return r;
    return fuse_request_reply(request, reply.buffer, reply.used);
}

int fuse_op_readdir(struct fuse_server *server, struct fuse_request *request,
                    struct fuse_node *node)
{
    return read_directory(server, request, false);
}

int fuse_op_readdirplus(struct fuse_server *server,
                        struct fuse_request *request, struct fuse_node *node)
{
    return read_directory(server, request, true);
}

int fuse_op_releasedir(struct fuse_server *server, struct fuse_request *request,
                       struct fuse_node *node)
{
    const struct fuse_release_in *in = fuse_request_take(request, sizeof(*in));

    return fuse_handles_remove(server->handles, in->fh, true);
}

int fuse_op_fsyncdir(struct fuse_server *server, struct fuse_request *request,
                     struct fuse_node *node)
{
    const struct fuse_fsync_in *in = fuse_request_take(request, sizeof(*in));

    return fuse_handles_sync(server->handles,
                             fuse_handles_get_dir(server->handles, in->fh),
                             in->fsync_flags & FUSE_FSYNC_FDATASYNC);
}
