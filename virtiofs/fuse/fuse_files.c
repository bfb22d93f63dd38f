/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_files - handlers of the opcodes that open and close files.
 */
#include <errno.h>
#include <fcntl.h>

#include "common/fd.h"
#include "daemon/fd_reserve.h"
#include "virtiofs/fuse/fuse_ops.h"

/* The flags that are passed to the host's open(). O_APPEND and O_SYNC are
 * dropped: they can change on an open file, so each WRITE carries its own.
 * O_DIRECT asks to bypass the client's cache; on the host it would only require
 * alignment of the client's memory. */
#define OPEN_FLAGS (O_ACCMODE | O_TRUNC | O_NOATIME)

static int check_access_mode(const struct fuse_server *server, uint32_t flags)
{
    if (server->config.read_only &&
        ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC)))
        return -EROFS;
    return 0;
}

/* Capturing more than this many bytes of a truncated file takes
 * milliseconds. */
#define LONG_TRUNCATE (1 << 20)

bool fuse_cut_is_long(const struct fuse_request *request,
                      const struct ic_inode *inode)
{
    struct stat st;

    return !fuse_has_time(request, FUSE_PACE_ANY) &&
           fstat(ic_inode_fd(inode), &st) == 0 && st.st_size > LONG_TRUNCATE;
}

/* Truncate a file to 0 as a user without CAP_FSETID does: suid, sgid and
 * capabilities are cleared. */
static int truncate_kill_priv(struct fuse_server *server,
                              struct ic_inode *inode, int fd, uint32_t flags)
{
    struct ic_setattr attr = { .valid = IC_SET_SIZE | IC_KILL_PRIV };

    if ((flags & O_ACCMODE) == O_RDONLY)
        fd = -1;
    return ic_setattr(server->ic, inode, fd, &attr, NULL);
}

/* A client with a write-back cache reads the pages around each write, so a file
 * that it opens for writing must be readable. */
static uint32_t access_mode(const struct fuse_server *server, uint32_t flags)
{
    if (server->config.writeback && (flags & O_ACCMODE) == O_WRONLY)
        return (flags & ~(uint32_t)O_ACCMODE) | O_RDWR;
    return flags;
}

static int open_inode(struct fuse_server *server, struct ic_inode *inode,
                      uint32_t flags, bool kill_priv, int *ret_fd)
{
    bool cut = (flags & O_TRUNC) && kill_priv;
    fd_auto int fd = -1;
    int r;

    flags = access_mode(server, flags);
    r = ic_open(server->ic, inode,
                (int)(flags & OPEN_FLAGS & ~(cut ? O_TRUNC : 0u)), &fd);
    /* The client may have used a cached name: writes to a removed file would be
     * lost. */
    if (r == 0 && (flags & O_ACCMODE) != O_RDONLY && fuse_entry_is_kept(server))
        r = ic_inode_check_named(inode);
    if (r == 0 && cut)
        r = truncate_kill_priv(server, inode, fd, flags);
    if (r < 0)
        return r;
    *ret_fd = fd_steal(&fd);
    return 0;
}

int fuse_op_open(struct fuse_server *server, struct fuse_request *request,
                 struct fuse_node *node)
{
    const struct fuse_open_in *in = fuse_request_take(request, sizeof(*in));
    struct fuse_open_out out = { 0 };
    int r = check_access_mode(server, in->flags);
    int fd = -1;

    if (r < 0)
        return r;
    if (S_ISDIR(ic_inode_type(node->inode)))
        return -EISDIR;
    if ((in->flags & O_TRUNC) && fuse_cut_is_long(request, node->inode))
        return FUSE_LONG;
    r = fuse_core_guard(server, request->head.pid, node, node);
    if (r == 0)
        r = fd_reserve_room(server->ic);
    if (r == 0)
        r = open_inode(server, node->inode, in->flags,
                       in->open_flags & FUSE_OPEN_KILL_SUIDGID, &fd);
    if (r < 0)
        return r;
    if (in->flags & O_TRUNC)
        fuse_nodes_keep_name(server->nodes, node->inode);
    out.open_flags = fuse_entry_file_flags(server, node, fd);
    r = fuse_handles_add(server->handles, fd, (int)in->flags, node->inode,
                         &out.fh);
    if (r < 0)
        return r;
    return fuse_request_reply(request, &out, sizeof(out));
}

/* Reply with an entry and a handle. Takes fd and inode. */
static int reply_created(struct fuse_server *server,
                         struct fuse_request *request, uint32_t flags, int fd,
                         const struct ic_inode *dir, struct ic_inode *inode,
                         const struct stat *st)
{
    struct fuse_open_out out = { .open_flags = fuse_entry_open_flags(server,
                                                                     false) };
    struct fuse_entry_out entry;
    int r = fuse_handles_add(server->handles, fd, (int)flags, inode, &out.fh);

    if (r < 0) {
        ic_inode_unref(inode);
        return r;
    }
    r = fuse_entry_fill(server, dir, inode, st, &entry);
    if (r < 0) {
        fuse_handles_remove(server->handles, out.fh, false);
        return r;
    }
    fuse_request_reply(request, &entry, sizeof(entry));
    return fuse_request_reply(request, &out, sizeof(out));
}

/* Do ic_create() as a user without CAP_FSETID: the name may exist by now, and
 * its file is then truncated. A file without content was created just now, or
 * can be treated so. */
static int create_kill_priv(struct fuse_server *server,
                            const struct ic_cred *cred, struct fuse_node *dir,
                            const char *name, const struct fuse_create_in *in,
                            struct ic_inode **ret_inode, struct stat *ret_stat,
                            int *ret_fd)
{
    int flags = (int)(access_mode(server, in->flags) & (OPEN_FLAGS | O_EXCL) &
                      ~(uint32_t)O_TRUNC);
    int r = ic_create(server->ic, cred, dir->inode, name, flags, in->mode,
                      ret_inode, ret_stat, ret_fd);

    if (r < 0 ||
        (ret_stat->st_size == 0 && !(ret_stat->st_mode & (S_ISUID | S_ISGID))))
        return r;
    r = truncate_kill_priv(server, *ret_inode, *ret_fd, in->flags);
    if (r == 0)
        r = ic_stat(server->ic, *ret_inode, ret_stat);
    if (r < 0) {
        fd_close(ret_fd);
        ic_inode_unref(*ret_inode);
    }
    return r;
}

static int create_or_open(struct fuse_server *server,
                          const struct ic_cred *cred, struct fuse_node *dir,
                          const char *name, const struct fuse_create_in *in,
                          struct ic_inode **ret_inode, struct stat *ret_stat,
                          int *ret_fd)
{
    if ((in->flags & O_TRUNC) && (in->open_flags & FUSE_OPEN_KILL_SUIDGID))
        return create_kill_priv(server, cred, dir, name, in, ret_inode,
                                ret_stat, ret_fd);
    return ic_create(
        server->ic, cred, dir->inode, name,
        (int)(access_mode(server, in->flags) & (OPEN_FLAGS | O_EXCL)), in->mode,
        ret_inode, ret_stat, ret_fd);
}

/* Only new files get a label: create the file exclusively, or else open the
 * existing one.
 */
static int create_labelled(struct fuse_server *server,
                           const struct ic_cred *cred, struct fuse_node *dir,
                           const char *name, const struct fuse_create_in *in,
                           const struct fuse_labels *labels,
                           struct ic_inode **ret_inode, struct stat *ret_stat,
                           int *ret_fd)
{
    struct fuse_create_in fresh = *in;
    int r;

    if (labels->n == 0)
        return create_or_open(server, cred, dir, name, in, ret_inode, ret_stat,
                              ret_fd);
    fresh.flags |= O_EXCL;
    r = create_or_open(server, cred, dir, name, &fresh, ret_inode, ret_stat,
                       ret_fd);
    if (r == -EEXIST && !(in->flags & O_EXCL))
        return create_or_open(server, cred, dir, name, in, ret_inode, ret_stat,
                              ret_fd);
    if (r == 0)
        r = fuse_create_end(server, dir, name, labels, *ret_inode);
    if (r < 0)
        fd_close(ret_fd);
    return r;
}

int fuse_op_create(struct fuse_server *server, struct fuse_request *request,
                   struct fuse_node *node)
{
    const struct fuse_create_in *in = fuse_request_take(request, sizeof(*in));
    struct fuse_labels labels;
    struct ic_inode *inode;
    struct ic_cred cred;
    const char *name;
    struct stat st;
    int r, fd = -1;

    if ((r = fuse_request_take_name(request, &name)) < 0 ||
        (r = fuse_create_labels(server, request, &labels)) < 0 ||
        (r = check_access_mode(server, in->flags)) < 0 ||
        (r = fuse_core_guard(server, request->head.pid, node, node)) < 0 ||
        (r = fuse_create_begin(server, request, node, in->umask, &cred)) < 0)
        return r;
    r = create_labelled(server, &cred, node, name, in, &labels, &inode, &st,
                        &fd);
    if (r < 0)
        return r;
    return reply_created(server, request, in->flags, fd, node->inode, inode,
                         &st);
}

int fuse_op_tmpfile(struct fuse_server *server, struct fuse_request *request,
                    struct fuse_node *node)
{
    const struct fuse_create_in *in = fuse_request_take(request, sizeof(*in));
    struct fuse_labels labels;
    struct ic_inode *inode;
    struct ic_cred cred;
    const char *name;
    struct stat st;
    int r, fd = -1;

    /* TMPFILE carries a name: that of the directory itself. */
    if ((r = fuse_request_take_string(request, &name)) < 0)
        name = NULL;
    if ((r = fuse_create_labels(server, request, &labels)) < 0 ||
        (r = check_access_mode(server, in->flags)) < 0 ||
        (r = fuse_core_guard(server, request->head.pid, node, node)) < 0 ||
        (r = fuse_create_begin(server, request, node, in->umask, &cred)) < 0)
        return r;
    r = ic_tmpfile(
        server->ic, &cred, node->inode,
        (int)(access_mode(server, in->flags) & (OPEN_FLAGS | O_EXCL)), in->mode,
        &inode, &st, &fd);
    if (r == 0)
        r = fuse_create_end(server, node, NULL, &labels, inode);
    if (r < 0) {
        fd_close(&fd);
        return r;
    }
    return reply_created(server, request, in->flags, fd, NULL, inode, &st);
}

int fuse_op_release(struct fuse_server *server, struct fuse_request *request,
                    struct fuse_node *node)
{
    const struct fuse_release_in *in = fuse_request_take(request, sizeof(*in));

    fuse_release_locks(server, in);
    return fuse_handles_remove(server->handles, in->fh, false);
}
