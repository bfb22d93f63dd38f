/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_create - common work of the creating opcodes: owner, umask and security
 * labels.
 *
 * Labels follow the names: a fuse_secctx_header, then for each label a
 * fuse_secctx, the attribute's name with its NUL, and the value, padded to a
 * multiple of 8 bytes. Labels are set right after the file was created; a file
 * that cannot get its label is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>

#include "common/proc_fd.h"
#include "daemon/fd_reserve.h"
#include "virtiofs/fuse/fuse_ops.h"

/* Return whether the directory has a default ACL, which the host's kernel
 * applies instead of the umask. */
static bool has_default_acl(const struct fuse_node *dir)
{
    struct proc_fd_path path = proc_fd_path(ic_inode_fd(dir->inode));

    return getxattr(path.text, "system.posix_acl_default", NULL, 0) >= 0;
}

int fuse_create_begin(struct fuse_server *server, struct fuse_request *request,
                      struct fuse_node *dir, uint32_t umask,
                      struct ic_cred *ret_cred)
{
    int r = fd_reserve_room(server->ic);

    *ret_cred = (struct ic_cred){ 0 };
    if (r == 0)
        r = id_maps_to_cred(&server->config.ids, request->head.uid,
                            request->head.gid, ret_cred);
    if (r < 0)
        return r;
    /* Without DONT_MASK the client has already applied its umask. */
    if (atomic_load(&server->dont_mask) && (umask & 0777) &&
        !has_default_acl(dir))
        ret_cred->umask = umask & 0777;
    return 0;
}

/* ---- labels -------------------------------------------------------------- */

/* Parse the next label. Return 1, 0 at the end, or -errno. */
static int next_label(struct fuse_request *request, uint32_t *inout_left,
                      struct fuse_label *ret_label)
{
    struct fuse_secctx head;
    const void *p;
    size_t used, padding;
    int r;

    if (*inout_left == 0)
        return 0;
    (*inout_left)--;
    used = fuse_request_args_left(request);
    p = fuse_request_take(request, sizeof(head));
    if (!p)
        return -EINVAL;
    memcpy(&head, p, sizeof(head));
    r = fuse_request_take_string(request, &ret_label->name);
    if (r < 0)
        return r;
    ret_label->size = head.size;
    ret_label->value = fuse_request_take(request, head.size);
    if (!ret_label->value)
        return -EINVAL;
    used -= fuse_request_args_left(request);
    padding = FUSE_REC_ALIGN(used) - used;
    fuse_request_take(request, MIN(padding, fuse_request_args_left(request)));
    return 1;
}

int fuse_create_labels(struct fuse_server *server, struct fuse_request *request,
                       struct fuse_labels *ret_labels)
{
    struct fuse_secctx_header head;
    const void *p;
    uint32_t left;
    int r;

    ret_labels->n = 0;
    if (!atomic_load(&server->security_ctx))
        return 0;
    p = fuse_request_take(request, sizeof(head));
    if (!p)
        return 0;
    memcpy(&head, p, sizeof(head));
    left = head.nr_secctx;
    if (left > FUSE_CREATE_LABELS)
        return -EINVAL;
    while ((r = next_label(request, &left, &ret_labels->label[ret_labels->n])) >
           0)
        ret_labels->n++;
    return r;
}

static int set_label(struct fuse_server *server, struct ic_inode *inode,
                     const struct fuse_label *label)
{
    struct xattr_map_name space;
    const char *name;
    int r = fuse_xattr_map_name(server, label->name, &space, &name);

    return r < 0 ? r
                 : ic_setxattr(server->ic, inode, name, label->value,
                               label->size, 0);
}

int fuse_create_end(struct fuse_server *server, struct fuse_node *dir,
                    const char *name, const struct fuse_labels *labels,
                    struct ic_inode *inode)
{
    bool is_dir = S_ISDIR(ic_inode_type(inode));
    int r = 0;

    for (unsigned i = 0; r == 0 && i < labels->n; i++)
        r = set_label(server, inode, &labels->label[i]);
    if (r == 0)
        return 0;
    if (name)
        ic_unlinkat(server->ic, dir->inode, name, is_dir ? AT_REMOVEDIR : 0);
    ic_inode_unref(inode);
    /* The request has side effects, so it cannot be restarted later. */
    return r == IC_PARKED ? -EAGAIN : r;
}
