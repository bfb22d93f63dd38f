/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_attr - handlers of the attribute opcodes.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "virtiofs/fuse/fuse_ops.h"

/* The client gets these attributes of the node. Return for how long. */
static struct fuse_timeout keep(struct fuse_server *server,
                                struct fuse_node *node, const struct stat *st)
{
    struct fuse_timeout timeout = fuse_entry_attr_timeout(server, node->inode,
                                                          st->st_nlink);
    uint64_t kept = atomic_load_explicit(&node->kept, memory_order_relaxed);

    if (timeout.seconds == FUSE_LEASE_LONG_S)
        atomic_store(&node->kept, fuse_entry_version(st));
    else if (kept != 0) /* not if a lookup has just brought newer ones */
        atomic_compare_exchange_strong(&node->kept, &kept, FUSE_KEPT_NAME);
    return timeout;
}

static int reply_attr(struct fuse_server *server, struct fuse_request *request,
                      struct fuse_node *node, const struct stat *st)
{
    struct fuse_timeout timeout = keep(server, node, st);
    struct fuse_attr_out out = { .attr_valid = timeout.seconds,
                                 .attr_valid_nsec = timeout.ns };

    fuse_entry_fill_attr(server, st, &out.attr);
    return fuse_request_reply(request, &out, sizeof(out));
}

int fuse_op_getattr(struct fuse_server *server, struct fuse_request *request,
                    struct fuse_node *node)
{
    struct stat st;
    int r = ic_stat_held(server->ic, node->inode, &st);

    if (r < 0)
        return r;
    return reply_attr(server, request, node, &st);
}

static struct timespec setattr_time(uint32_t now, uint64_t sec, uint32_t nsec)
{
    return (struct timespec){ .tv_sec = (time_t)sec,
                              .tv_nsec = now ? UTIME_NOW : (long)nsec };
}

static struct ic_setattr convert_setattr(const struct fuse_setattr_in *in)
{
    static const struct {
        uint32_t fattr;
        unsigned set;
    } bits[] = {
        { FATTR_MODE, IC_SET_MODE },
        { FATTR_UID, IC_SET_UID },
        { FATTR_GID, IC_SET_GID },
        { FATTR_SIZE, IC_SET_SIZE },
        { FATTR_ATIME, IC_SET_ATIME },
        { FATTR_MTIME, IC_SET_MTIME },
        { FATTR_KILL_SUIDGID, IC_KILL_PRIV },
    };
    struct ic_setattr attr = {
        .mode = in->mode & 07777,
        .uid = in->uid,
        .gid = in->gid,
        .size = (off_t)in->size,
        .atime = setattr_time(in->valid & FATTR_ATIME_NOW, in->atime,
                              in->atimensec),
        .mtime = setattr_time(in->valid & FATTR_MTIME_NOW, in->mtime,
                              in->mtimensec),
    };

    for (size_t i = 0; i < G_N_ELEMENTS(bits); i++) {
        if (in->valid & bits[i].fattr)
            attr.valid |= bits[i].set;
    }
    return attr;
}

static bool is_bad_time(const struct timespec *t)
{
    return t->tv_nsec != UTIME_NOW &&
           (t->tv_nsec < 0 || t->tv_nsec > 999999999);
}

/* Linux sends a SETATTR without fields (or, if the client keeps times itself,
 * with only the ctime, which cannot be set) when suid, sgid and capabilities
 * must be cleared and no other request clears them: before FALLOCATE, and for a
 * chown(2) that changes no owner. On the host the equivalent is a chown to
 * -1:-1. */
static const struct ic_setattr chown_unchanged = {
    .valid = IC_SET_UID | IC_SET_GID,
    .uid = (uid_t)-1,
    .gid = (gid_t)-1,
};

int fuse_op_setattr(struct fuse_server *server, struct fuse_request *request,
                    struct fuse_node *node)
{
    const struct fuse_setattr_in *in = fuse_request_take(request, sizeof(*in));
    struct ic_setattr attr = convert_setattr(in);
    struct fuse_handle *handle = NULL;
    struct ic_inode *inode = node->inode;
    struct stat st;
    int fd = -1;
    int r;

    /* Reject UTIME_OMIT as a nanosecond count. */
    if (attr.size < 0 || is_bad_time(&attr.atime) || is_bad_time(&attr.mtime))
        return -EINVAL;
    r = id_maps_to_owner(&server->config.ids, &attr);
    if (r < 0)
        return r;
    if ((attr.valid & IC_SET_SIZE) && fuse_cut_is_long(request, node->inode))
        return FUSE_LONG;
    if (in->valid & FATTR_FH) {
        handle = fuse_handles_get_file(server->handles, in->fh);
        if (!handle)
            return -EBADF;
        inode = handle->inode;
        fd = handle->writable ? handle->fd : -1;
    } else {
        r = fuse_core_guard_attr(server, request->head.pid, node);
        if (r == 0 && attr.valid & IC_SET_SIZE && fuse_entry_is_kept(server))
            r = ic_inode_check_named(inode);
        if (r < 0)
            return r;
    }
    if ((in->valid & ~(uint32_t)FATTR_CTIME) == 0 &&
        atomic_load(&server->kills_priv))
        attr = chown_unchanged;
    if (attr.valid & ~(unsigned)IC_KILL_PRIV)
        r = ic_setattr(server->ic, inode, fd, &attr, &st);
    else
        r = ic_stat(server->ic, inode, &st);
    if (r == 0)
        r = reply_attr(server, request, node, &st);
    if (handle)
        fuse_handles_put(server->handles, handle);
    return r;
}

static struct fuse_sx_time statx_time(const struct timespec *t)
{
    return (struct fuse_sx_time){ .tv_sec = t->tv_sec,
                                  .tv_nsec = (uint32_t)t->tv_nsec };
}

static void fill_statx(const struct fuse_server *server, const struct stat *st,
                       struct fuse_statx *ret_stat)
{
    *ret_stat = (struct fuse_statx){
        .mask = STATX_BASIC_STATS,
        .blksize = (uint32_t)st->st_blksize,
        .nlink = (uint32_t)st->st_nlink,
        .uid = id_map_to_guest(server->config.ids.users, st->st_uid),
        .gid = id_map_to_guest(server->config.ids.groups, st->st_gid),
        .mode = (uint16_t)st->st_mode,
        .ino = st->st_ino,
        .size = (uint64_t)st->st_size,
        .blocks = (uint64_t)st->st_blocks,
        .atime = statx_time(&st->st_atim),
        .ctime = statx_time(&st->st_ctim),
        .mtime = statx_time(&st->st_mtim),
        .rdev_major = major(st->st_rdev),
        .rdev_minor = minor(st->st_rdev),
        .dev_major = major(st->st_dev),
        .dev_minor = minor(st->st_dev),
    };
}

int fuse_op_statx(struct fuse_server *server, struct fuse_request *request,
                  struct fuse_node *node)
{
    const struct fuse_statx_in *in = fuse_request_take(request, sizeof(*in));
    struct fuse_statx_out out = { 0 };
    struct fuse_timeout timeout;
    struct statx sx;
    struct stat st;
    int r = ic_stat(server->ic, node->inode, &st);

    if (r < 0)
        return r;
    timeout = keep(server, node, &st);
    out.attr_valid = timeout.seconds;
    out.attr_valid_nsec = timeout.ns;
    fill_statx(server, &st, &out.stat);
    /* The birth time, which stat(2) lacks. */
    if ((in->sx_mask & STATX_BTIME) &&
        statx(ic_inode_fd(node->inode), "", AT_EMPTY_PATH, STATX_BTIME, &sx) ==
            0 &&
        (sx.stx_mask & STATX_BTIME)) {
        out.stat.mask |= STATX_BTIME;
        out.stat.btime.tv_sec = sx.stx_btime.tv_sec;
        out.stat.btime.tv_nsec = sx.stx_btime.tv_nsec;
    }
    return fuse_request_reply(request, &out, sizeof(out));
}

/* Return the access rights that the mode grants to the request's user. */
static uint32_t granted_access(const struct fuse_in_header *head,
                               const struct stat *st)
{
    uint32_t mode = st->st_mode;

    if (head->uid == 0) {
        bool execute = S_ISDIR(mode) || (mode & 0111);

        return R_OK | W_OK | (execute ? X_OK : 0);
    }
    if (head->uid == st->st_uid)
        return mode >> 6 & 7;
    if (head->gid == st->st_gid)
        return mode >> 3 & 7;
    return mode & 7;
}

/* Linux sends ACCESS only if it does not check permissions itself
 * (default_permissions); virtio-fs and our mount do check them. */
int fuse_op_access(struct fuse_server *server, struct fuse_request *request,
                   struct fuse_node *node)
{
    const struct fuse_access_in *in = fuse_request_take(request, sizeof(*in));
    struct stat st;
    int r;

    if (in->mask & ~(uint32_t)(R_OK | W_OK | X_OK))
        return -EINVAL;
    if ((in->mask & W_OK) && server->config.read_only)
        return -EROFS;
    r = ic_stat(server->ic, node->inode, &st);
    if (r < 0)
        return r;
    id_maps_to_guest(&server->config.ids, &st);
    return in->mask & ~granted_access(&request->head, &st) ? -EACCES : 0;
}

int fuse_op_statfs(struct fuse_server *server, struct fuse_request *request,
                   struct fuse_node *node)
{
    struct fuse_statfs_out out = { 0 };
    struct statvfs st;
    int r = ic_statvfs(server->ic, node->inode, &st);

    if (r < 0)
        return r;
    out.st = (struct fuse_kstatfs){
        .blocks = st.f_blocks,
        .bfree = st.f_bfree,
        .bavail = st.f_bavail,
        .files = st.f_files,
        .ffree = st.f_ffree,
        .bsize = (uint32_t)st.f_bsize,
        .namelen = (uint32_t)st.f_namemax,
        .frsize = (uint32_t)st.f_frsize,
    };
    return fuse_request_reply(request, &out, sizeof(out));
}
