/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_names - handlers of the opcodes that look up, create, rename and remove
 * names.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "virtiofs/fuse/fuse_ops.h"

/* More entries than a message of mount.c can hold, so no client's request is
 * cut short; and a bound on the time that a worker spends on one request. */
#define BATCH_MAX   131072u
#define BATCH_PIECE (1024 * sizeof(struct fuse_forget_one))

/* Look up "." or "..": a client that is an NFS server rebuilds paths with
 * them. */
static int lookup_dots(struct fuse_server *server, struct fuse_node *node,
                       const char *name, struct fuse_entry_out *ret_entry)
{
    struct ic_inode *inode;
    struct stat st;
    int r;

    if (!atomic_load(&server->export_support))
        return -EINVAL;
    if (strcmp(name, ".") == 0)
        inode = ic_inode_ref(node->inode);
    else if (!S_ISDIR(ic_inode_type(node->inode)))
        return -ENOTDIR;
    else if ((r = ic_lookup_parent(server->ic, node->inode, &inode)) < 0)
        return r;
    r = ic_stat(server->ic, inode, &st);
    if (r == 0)
        return fuse_entry_fill(server, NULL, inode, &st, ret_entry);
    ic_inode_unref(inode);
    return r;
}

/* Look up a name and return its node, new or known, or an entry without a node
 * if the client may keep that there is none. */
static int lookup_name(struct fuse_server *server, struct fuse_node *node,
                       const char *name, struct fuse_entry_out *ret_entry)
{
    struct ic_inode *inode;
    struct stat st;
    int r;

    if (*name == 0 || strchr(name, '/'))
        return -EINVAL;
    if (fuse_entry_is_kept(server)) {
        r = ic_lookup(server->ic, node->inode, name, &inode, &st);
        if (r == 0)
            r = fuse_entry_fill(server, node->inode, inode, &st, ret_entry);
    } else {
        r = ic_lookup_uncached(server->ic, node->inode, name, &inode, &st);
        if (r == 0)
            r = fuse_entry_fill_held(server, node->inode, inode, &st,
                                     ret_entry);
    }
    if (r == 0)
        fuse_entry_mark_submount(server, node->inode, &st, &ret_entry->attr);
    if (r == -ENOENT && fuse_entry_fill_missing(server, node->inode, ret_entry))
        return 0;
    return r;
}

int fuse_op_lookup(struct fuse_server *server, struct fuse_request *request,
                   struct fuse_node *node)
{
    struct fuse_entry_out entry;
    const char *name;
    int r = fuse_request_take_string(request, &name);

    if (r < 0)
        return r;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        r = lookup_dots(server, node, name, &entry);
    else
        r = lookup_name(server, node, name, &entry);
    fuse_lease_note_lookup(server->lease, request->head.pid, node->id,
                           r < 0 ? 0 : entry.nodeid);
    return r < 0 ? r : fuse_request_reply(request, &entry, sizeof(entry));
}

int fuse_op_forget(struct fuse_server *server, struct fuse_request *request,
                   struct fuse_node *node)
{
    const struct fuse_forget_in *in = fuse_request_take(request, sizeof(*in));

    fuse_nodes_forget(server->nodes, request->head.nodeid, in->nlookup);
    return 0;
}

/* Linux packs as many entries into one request as fit in one read of /dev/fuse,
 * far more than the arguments of other opcodes; so they are loaded in
 * pieces. */
int fuse_op_batch_forget(struct fuse_server *server,
                         struct fuse_request *request, struct fuse_node *node)
{
    const struct fuse_batch_forget_in *in = fuse_request_take(request,
                                                              sizeof(*in));
    const struct fuse_forget_one *one;
    uint32_t left = MIN(in->count, BATCH_MAX);

    /* The count is only an upper bound; the actual entries end the loop. */
    while (left > 0 && fuse_request_load_next(request, BATCH_PIECE)) {
        while (left > 0 && (one = fuse_request_take(request, sizeof(*one)))) {
            fuse_nodes_forget(server->nodes, one->nodeid, one->nlookup);
            left--;
        }
    }
    return 0;
}

int fuse_op_readlink(struct fuse_server *server, struct fuse_request *request,
                     struct fuse_node *node)
{
    size_t room = MIN(fuse_request_room(request), PATH_MAX);
    char *target = request->scratch->buffer;
    ssize_t n;

    if (!S_ISLNK(ic_inode_type(node->inode)))
        return -EINVAL;
    n = readlinkat(ic_inode_fd(node->inode), "", target, room);
    if (n < 0)
        return -errno;
    return fuse_request_reply(request, target, (size_t)n);
}

int fuse_op_symlink(struct fuse_server *server, struct fuse_request *request,
                    struct fuse_node *node)
{
    const char *name, *target;
    struct fuse_labels labels;
    struct ic_inode *inode;
    struct ic_cred cred;
    struct stat st;
    int r;

    if ((r = fuse_request_take_name(request, &name)) < 0 ||
        (r = fuse_request_take_string(request, &target)) < 0 ||
        (r = fuse_create_labels(server, request, &labels)) < 0 ||
        (r = fuse_core_guard(server, request->head.pid, node, node)) < 0 ||
        (r = fuse_create_begin(server, request, node, 0, &cred)) < 0)
        return r;
    r = ic_symlinkat(server->ic, &cred, target, node->inode, name, &inode, &st);
    if (r == 0)
        r = fuse_create_end(server, node, name, &labels, inode);
    if (r < 0)
        return r;
    return fuse_entry_reply(server, request, node->inode, inode, &st);
}

/* MKNOD and MKDIR differ in their arguments alone. */
static int make_node(struct fuse_server *server, struct fuse_request *request,
                     struct fuse_node *node, mode_t mode, dev_t rdev,
                     mode_t umask)
{
    struct fuse_labels labels;
    struct ic_inode *inode;
    struct ic_cred cred;
    const char *name;
    struct stat st;
    int r;

    if ((r = fuse_request_take_name(request, &name)) < 0 ||
        (r = fuse_create_labels(server, request, &labels)) < 0 ||
        /* bind(2) does not repeat the request. */
        (!S_ISSOCK(mode) &&
         (r = fuse_core_guard(server, request->head.pid, node, node)) < 0) ||
        (r = fuse_create_begin(server, request, node, umask, &cred)) < 0)
        return r;
    if (S_ISDIR(mode))
        r = ic_mkdirat(server->ic, &cred, node->inode, name, mode & 07777,
                       &inode, &st);
    else
        r = ic_mknodat(server->ic, &cred, node->inode, name, mode, rdev, &inode,
                       &st);
    if (r == 0)
        r = fuse_create_end(server, node, name, &labels, inode);
    if (r < 0)
        return r;
    return fuse_entry_reply(server, request, node->inode, inode, &st);
}

int fuse_op_mknod(struct fuse_server *server, struct fuse_request *request,
                  struct fuse_node *node)
{
    const struct fuse_mknod_in *in = fuse_request_take(request, sizeof(*in));

    /* mknod(2) makes no directory. */
    if (S_ISDIR(in->mode))
        return -EINVAL;
    return make_node(server, request, node, in->mode,
                     fuse_entry_decode_rdev(in->rdev), in->umask);
}

int fuse_op_mkdir(struct fuse_server *server, struct fuse_request *request,
                  struct fuse_node *node)
{
    const struct fuse_mkdir_in *in = fuse_request_take(request, sizeof(*in));

    return make_node(server, request, node, S_IFDIR | (in->mode & 07777), 0,
                     in->umask);
}

static int remove_name(struct fuse_server *server, struct fuse_request *request,
                       struct fuse_node *node, int flags)
{
    const char *name;
    int r = fuse_request_take_name(request, &name);

    if (r == 0)
        r = fuse_core_guard(server, request->head.pid, node, node);
    if (r < 0)
        return r;
    return ic_unlinkat(server->ic, node->inode, name, flags);
}

int fuse_op_unlink(struct fuse_server *server, struct fuse_request *request,
                   struct fuse_node *node)
{
    return remove_name(server, request, node, 0);
}

int fuse_op_rmdir(struct fuse_server *server, struct fuse_request *request,
                  struct fuse_node *node)
{
    return remove_name(server, request, node, AT_REMOVEDIR);
}

static int rename_name(struct fuse_server *server, struct fuse_request *request,
                       struct fuse_node *node, uint64_t new_dir_id,
                       unsigned flags)
{
    const char *old_name, *new_name;
    struct fuse_node *new_dir;
    int r;

    if ((r = fuse_request_take_name(request, &old_name)) < 0 ||
        (r = fuse_request_take_name(request, &new_name)) < 0)
        return r;
    r = fuse_nodes_get(server->nodes, new_dir_id, &new_dir);
    if (r < 0)
        return r;
    r = fuse_core_guard(server, request->head.pid, node, new_dir);
    if (r == 0)
        r = ic_renameat2(server->ic, node->inode, old_name, new_dir->inode,
                         new_name, flags);
    fuse_nodes_put(server->nodes, new_dir);
    return r;
}

int fuse_op_rename(struct fuse_server *server, struct fuse_request *request,
                   struct fuse_node *node)
{
    const struct fuse_rename_in *in = fuse_request_take(request, sizeof(*in));

    return rename_name(server, request, node, in->newdir, 0);
}

int fuse_op_rename2(struct fuse_server *server, struct fuse_request *request,
                    struct fuse_node *node)
{
    const struct fuse_rename2_in *in = fuse_request_take(request, sizeof(*in));

    return rename_name(server, request, node, in->newdir, in->flags);
}

int fuse_op_link(struct fuse_server *server, struct fuse_request *request,
                 struct fuse_node *node)
{
    const struct fuse_link_in *in = fuse_request_take(request, sizeof(*in));
    struct fuse_node *old;
    const char *name;
    struct stat st;
    int r = fuse_request_take_name(request, &name);

    if (r < 0)
        return r;
    r = fuse_nodes_get(server->nodes, in->oldnodeid, &old);
    if (r < 0)
        return r;
    r = fuse_core_guard_link(server, request->head.pid, node, old);
    if (r == 0)
        r = ic_linkat(server->ic, old->inode, node->inode, name, &st);
    if (r == 0)
        r = fuse_entry_reply(server, request, node->inode,
                             ic_inode_ref(old->inode), &st);
    fuse_nodes_put(server->nodes, old);
    return r;
}
