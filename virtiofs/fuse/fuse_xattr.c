/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_xattr - handlers of the opcodes on extended attributes.
 *
 * The reading system calls accept no O_PATH fd, only a path. /proc/self/fd/N
 * resolves to the inode behind the fd; being a magic link, it does not resolve
 * further if that inode is a symlink.
 */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "common/proc_fd.h"
#include "virtiofs/fuse/fuse_ops.h"

#define VALUE_MAX 65536 /* XATTR_SIZE_MAX, XATTR_LIST_MAX */

int fuse_xattr_map_name(const struct fuse_server *server, const char *name,
                        struct xattr_map_name *space, const char **ret_name)
{
    int r;

    *ret_name = name;
    if (!server->config.xattr_map)
        return 0;
    r = xattr_map_client(server->config.xattr_map, name, space);
    if (r == 0)
        *ret_name = space->text;
    return r;
}

void fuse_xattr_find_capability(struct fuse_server *server)
{
    static const char name[] = "security.capability";
    struct xattr_map_name *found = &server->capability;

    if (!server->config.xattr_map ||
        xattr_map_client(server->config.xattr_map, name, found) < 0 ||
        strcmp(found->text, name) == 0)
        found->text[0] = 0;
}

int fuse_xattr_kill_capability(struct fuse_server *server,
                               struct ic_inode *inode)
{
    const char *name = server->capability.text;
    struct proc_fd_path path;
    int r;

    if (!*name)
        return 0;
    path = proc_fd_path(ic_inode_fd(inode));
    if (getxattr(path.text, name, NULL, 0) < 0)
        return 0; /* the usual case */
    r = ic_removexattr(server->ic, inode, name);
    return r == -ENODATA ? 0 : r;
}

/* Clear sgid, as the kernel does when a user sets the ACL of a file whose group
 * the user is not in. */
static int kill_sgid(struct fuse_server *server, struct ic_inode *inode)
{
    struct ic_setattr attr = { .valid = IC_SET_MODE };
    struct stat st;
    int r = ic_stat(server->ic, inode, &st);

    if (r < 0 || !(st.st_mode & S_ISGID))
        return r;
    attr.mode = st.st_mode & 07777 & ~(mode_t)S_ISGID;
    return ic_setattr(server->ic, inode, -1, &attr, NULL);
}

int fuse_op_setxattr(struct fuse_server *server, struct fuse_request *request,
                     struct fuse_node *node)
{
    bool whole = atomic_load(&server->setxattr_ext);
    const struct fuse_setxattr_in *in = fuse_request_take(
        request, whole ? sizeof(*in) : FUSE_COMPAT_SETXATTR_IN_SIZE);
    struct xattr_map_name space;
    const void *value;
    const char *name;
    int r = in ? fuse_request_take_string(request, &name) : -EINVAL;

    if (r < 0)
        return r;
    value = fuse_request_take(request, in->size);
    if (!value)
        return -EINVAL;
    r = fuse_core_guard_attr(server, request->head.pid, node);
    if (r == 0)
        r = fuse_xattr_map_name(server, name, &space, &name);
    if (r < 0)
        return r;
    r = ic_setxattr(server->ic, node->inode, name, value, in->size,
                    (int)in->flags);
    if (r == 0 && whole && in->setxattr_flags & FUSE_SETXATTR_ACL_KILL_SGID)
        r = kill_sgid(server, node->inode);
    return r;
}

/* Reply with a value or list of n bytes in the scratch, or only with its size
 * if the client passed size 0. */
static int reply_value(struct fuse_request *request, uint32_t size, ssize_t n)
{
    struct fuse_getxattr_out out = { .size = (uint32_t)n };

    if (size == 0)
        return fuse_request_reply(request, &out, sizeof(out));
    if ((size_t)n > size)
        return -ERANGE;
    return fuse_request_reply(request, request->scratch->buffer, (size_t)n);
}

int fuse_op_getxattr(struct fuse_server *server, struct fuse_request *request,
                     struct fuse_node *node)
{
    const struct fuse_getxattr_in *in = fuse_request_take(request, sizeof(*in));
    struct proc_fd_path path = proc_fd_path(ic_inode_fd(node->inode));
    struct xattr_map_name space;
    const char *name;
    ssize_t n;
    int r = fuse_request_take_string(request, &name);

    if (r == 0)
        r = fuse_xattr_map_name(server, name, &space, &name);
    if (r < 0)
        return r == -EPERM ? -ENODATA : r;
    n = getxattr(path.text, name, request->scratch->buffer, VALUE_MAX);
    if (n < 0)
        return -errno;
    return reply_value(request, in->size, n);
}

int fuse_op_listxattr(struct fuse_server *server, struct fuse_request *request,
                      struct fuse_node *node)
{
    const struct fuse_getxattr_in *in = fuse_request_take(request, sizeof(*in));
    struct proc_fd_path path = proc_fd_path(ic_inode_fd(node->inode));
    ssize_t n;

    n = listxattr(path.text, request->scratch->buffer, VALUE_MAX);
    if (n < 0)
        return -errno;
    if (server->config.xattr_map)
        n = (ssize_t)xattr_map_list(server->config.xattr_map,
                                    request->scratch->buffer, (size_t)n);
    return reply_value(request, in->size, n);
}

int fuse_op_removexattr(struct fuse_server *server,
                        struct fuse_request *request, struct fuse_node *node)
{
    struct xattr_map_name space;
    const char *name;
    int r = fuse_request_take_string(request, &name);

    if (r == 0)
        r = fuse_core_guard_attr(server, request->head.pid, node);
    if (r == 0)
        r = fuse_xattr_map_name(server, name, &space, &name);
    if (r < 0)
        return r;
    return ic_removexattr(server->ic, node->inode, name);
}
