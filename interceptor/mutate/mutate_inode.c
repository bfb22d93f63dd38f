/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate_inode - the mutation layer: changes of inodes. See mutate.c.
 *
 * The path of a repeated write is short: the gate, one compare of the inode's
 * epoch with the engine's, the write.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/engine/durable.h"
#include "interceptor/engine/engine.h"
#include "interceptor/engine/gate.h"
#include "interceptor/engine/grants.h"
#include "interceptor/engine/safeguard.h"
#include "interceptor/engine/writing.h"
#include "interceptor/log/content.h"
#include "interceptor/mutate/mutate_again.h"
#include "interceptor/sys/sys.h"

/* ---- capture ------------------------------------------------------------- */

#define RANGE_END INT64_MAX

static bool is_current(struct ic *ic, _Atomic uint64_t *epoch)
{
    uint64_t open = atomic_load_explicit(&ic->epoch, memory_order_acquire);

    return open != 0 &&
           atomic_load_explicit(epoch, memory_order_acquire) == open;
}

/* End a capture: it counts once it is on disk. */
static int end_capture(struct ic *ic, int rc)
{
    if (rc == 0)
        rc = durable_wait(ic);
    durable_end(ic);
    return rc;
}

static int keep_meta(struct ic *ic, struct ic_inode *inode)
{
    int rc;

    if (!core_captures(ic) ||
        (is_current(ic, &inode->meta_epoch) && !durable_is_pending(ic)))
        return 0;
    durable_begin(ic);
    pthread_mutex_lock(&ic->names);
    rc = engine_need_step(ic);
    if (rc == 0 && core_captures(ic))
        rc = capture_meta(&ic->wal, inode);
    pthread_mutex_unlock(&ic->names);
    return end_capture(ic, rc);
}

static int keep_owner(struct ic *ic, struct ic_inode *inode,
                      const struct ic_setattr *attr)
{
    int rc;

    if (!core_captures(ic) || !(attr->valid & (IC_SET_UID | IC_SET_GID)))
        return 0;
    durable_begin(ic);
    pthread_mutex_lock(&ic->names);
    rc = engine_need_step(ic);
    if (rc == 0 && core_captures(ic))
        rc = capture_owner(&ic->wal, inode,
                           attr->valid & IC_SET_UID ? attr->uid : (uid_t)-1,
                           attr->valid & IC_SET_GID ? attr->gid : (gid_t)-1);
    pthread_mutex_unlock(&ic->names);
    return end_capture(ic, rc);
}

static int begin_content(struct ic *ic, struct ic_inode *inode,
                         struct content **ret_content)
{
    int rc;

    pthread_mutex_lock(&ic->names);
    rc = engine_need_step(ic);
    if (rc == 0 && core_captures(ic))
        rc = capture_content_begin(&ic->wal, inode, ret_content);
    pthread_mutex_unlock(&ic->names);
    return rc;
}

static int end_content(struct ic *ic, struct ic_inode *inode,
                       struct content *content)
{
    int rc;

    pthread_mutex_lock(&ic->names);
    rc = capture_content_end(&ic->wal, inode, content);
    pthread_mutex_unlock(&ic->names);
    return rc;
}

static bool has_data(struct ic *ic, struct ic_inode *inode, off_t offset,
                     off_t length)
{
    return is_current(ic, &inode->data_epoch) ||
           (is_current(ic, &inode->content_epoch) &&
            content_has(inode->content, offset, length));
}

static int capture_data(struct ic *ic, struct ic_inode *inode, off_t offset,
                        off_t length)
{
    struct content *content = NULL;
    int rc;

    rc = begin_content(ic, inode, &content);
    if (rc < 0 || !content)
        return rc;
    rc = capture_content_keep(&ic->wal, inode, content, offset, length);
    if (rc == -EXFULL)
        return limits_unprotect_unlocked(ic, inode->ino, content->size);
    return rc < 0 ? rc : end_content(ic, inode, content);
}

/* [offset, offset + length) of the content is about to change; length
 * RANGE_END: everything from offset on. */
static int keep_data(struct ic *ic, struct ic_inode *inode, off_t offset,
                     off_t length)
{
    if (!core_captures(ic) ||
        (has_data(ic, inode, offset, length) && !durable_is_pending(ic)))
        return 0;
    durable_begin(ic);
    return end_capture(ic, capture_data(ic, inode, offset, length));
}

/* ---- opening ------------------------------------------------------------- */

static int open_once(struct ic *ic, struct ic_inode *inode, int flags,
                     int *ret_fd)
{
    int allowed = O_ACCMODE | O_APPEND | O_DIRECT | O_SYNC | O_DSYNC |
                  O_NOATIME | O_DIRECTORY | O_TRUNC;
    bool changes = flags & O_TRUNC;
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    int fd, rc = inode_check(inode);

    if (rc < 0)
        return rc;
    if (S_ISLNK(inode->type))
        return -ELOOP;
    if (!S_ISREG(inode->type) && !S_ISDIR(inode->type))
        return -ENXIO;
    if (writes && ic->read_only)
        return -EROFS;
    rc = writes || changes ? grants_check_write(ic, inode) : 0;
    if (rc < 0)
        return rc;
    if (changes) {
        rc = safeguard_enter(ic, inode, 0);
        if (rc < 0)
            return rc;
        if (S_ISREG(inode->type))
            rc = keep_data(ic, inode, 0, RANGE_END);
    }
    fd = rc < 0 ? rc : sys_reopen(inode->fd, (flags & allowed) | O_NONBLOCK);
    if (fd == -EPERM && flags & O_NOATIME)
        fd = sys_reopen(inode->fd, (flags & allowed & ~O_NOATIME) | O_NONBLOCK);
    if (changes && fd >= 0)
        writing_note(ic, inode);
    if (changes)
        engine_leave(ic);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

int ic_open(struct ic *ic, struct ic_inode *inode, int flags, int *ret_fd)
{
    return MUTATE_WITH_ROOM(ic, limits_make_room,
                            open_once(ic, inode, flags, ret_fd));
}

/* ---- content ------------------------------------------------------------- */

/* As the kernel does for a writer without CAP_FSETID. */
static int kill_suid(int fd)
{
    struct stat st;
    mode_t mode;
    int rc = sys_stat_fd(fd, &st);

    if (rc < 0 || !S_ISREG(st.st_mode))
        return rc;
    mode = st.st_mode & 07777 & ~(mode_t)S_ISUID;
    if (mode & S_IXGRP)
        mode &= ~(mode_t)S_ISGID;
    return mode == (st.st_mode & 07777) ? 0 : sys_chmod_fd(fd, mode);
}

static off_t iov_length(const struct iovec *iov, int iovcnt)
{
    off_t length = 0;

    for (int i = 0; i < iovcnt; i++)
        length += (off_t)iov[i].iov_len;
    return length;
}

static int keep_written(struct ic *ic, struct ic_inode *inode,
                        const struct iovec *iov, int iovcnt, off_t offset,
                        int rwf_flags)
{
    if (!core_captures(ic) ||
        (is_current(ic, &inode->data_epoch) && !durable_is_pending(ic)))
        return 0;
    /* An append destroys nothing, wherever the end is by then. */
    return keep_data(ic, inode, offset,
                     rwf_flags & RWF_APPEND ? 0 : iov_length(iov, iovcnt));
}

static ssize_t pwritev_once(struct ic *ic, struct ic_inode *inode, int fd,
                            const struct iovec *iov, int iovcnt, off_t offset,
                            int rwf_flags, bool kill_priv, uint64_t undos)
{
    ssize_t n;
    int rc;

    if (offset < 0 && !(rwf_flags & RWF_APPEND))
        return -EINVAL; /* -1 would mean the fd's own offset (pwritev2(2)) */
    rc = safeguard_enter(ic, inode,
                         rwf_flags & RWF_APPEND ? SAFEGUARD_NOTHING : offset);

    if (rc < 0)
        return rc;
    if (inode_pages_are_stale(inode, undos)) {
        engine_leave(ic);
        return iov_length(iov, iovcnt);
    }
    n = keep_written(ic, inode, iov, iovcnt, offset, rwf_flags);
    if (n == 0)
        n = sys_pwritev2(fd, iov, iovcnt, offset, rwf_flags);
    if (n > 0) {
        inode_note_size(inode, offset + n);
        writing_note(ic, inode);
    }
    if (n > 0 && kill_priv)
        kill_suid(fd);
    engine_leave(ic);
    return n;
}

ssize_t ic_pwritev(struct ic *ic, struct ic_inode *inode, int fd,
                   const struct iovec *iov, int iovcnt, off_t offset,
                   int rwf_flags, bool kill_priv)
{
    return ic_pwrite_pages(ic, inode, fd, iov, iovcnt, offset, rwf_flags,
                           kill_priv, INODE_NO_PAGES);
}

ssize_t ic_pwrite_pages(struct ic *ic, struct ic_inode *inode, int fd,
                        const struct iovec *iov, int iovcnt, off_t offset,
                        int rwf_flags, bool kill_priv, uint64_t undos)
{
    return MUTATE_WITH_ROOM(ic, limits_make_room,
                            pwritev_once(ic, inode, fd, iov, iovcnt, offset,
                                         rwf_flags, kill_priv, undos));
}

static bool destroys(int fallocate_mode)
{
    return fallocate_mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE |
                             FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE);
}

static int fallocate_once(struct ic *ic, struct ic_inode *inode, int fd,
                          int mode, off_t offset, off_t length)
{
    int rc = safeguard_enter(ic, inode,
                             destroys(mode) ? offset : SAFEGUARD_NOTHING);

    if (rc < 0)
        return rc;
    rc = keep_data(ic, inode, offset,
                   mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)
                       ? RANGE_END
                       : length);
    if (rc == 0)
        rc = sys_fallocate(fd, mode, offset, length);
    if (rc == 0) {
        inode_note_size(inode, offset + length);
        writing_note(ic, inode);
    }
    engine_leave(ic);
    return rc;
}

int ic_fallocate(struct ic *ic, struct ic_inode *inode, int fd, int mode,
                 off_t offset, off_t length)
{
    return MUTATE_WITH_ROOM(
        ic, limits_make_room,
        fallocate_once(ic, inode, fd, mode, offset, length));
}

static ssize_t copy_file_range_once(struct ic *ic, int in_fd, off_t in_offset,
                                    struct ic_inode *out_inode, int out_fd,
                                    off_t out_offset, size_t length,
                                    unsigned flags)
{
    ssize_t n;
    int rc = safeguard_enter(ic, out_inode, out_offset);

    if (rc < 0)
        return rc;
    n = keep_data(ic, out_inode, out_offset, (off_t)MIN(length, INT64_MAX));
    if (n == 0)
        n = sys_copy_file_range(in_fd, in_offset, out_fd, out_offset, length,
                                flags);
    if (n > 0) {
        inode_note_size(out_inode, out_offset + n);
        writing_note(ic, out_inode);
    }
    engine_leave(ic);
    return n;
}

ssize_t ic_copy_file_range(struct ic *ic, int in_fd, off_t in_offset,
                           struct ic_inode *out_inode, int out_fd,
                           off_t out_offset, size_t length, unsigned flags)
{
    return MUTATE_WITH_ROOM(ic, limits_make_room,
                            copy_file_range_once(ic, in_fd, in_offset,
                                                 out_inode, out_fd, out_offset,
                                                 length, flags));
}

/* ---- attributes ---------------------------------------------------------- */

static int set_size(struct ic_inode *inode, int fd,
                    const struct ic_setattr *attr)
{
    fd_auto int own = -1;
    int rc;

    if (!S_ISREG(inode->type))
        return S_ISDIR(inode->type) ? -EISDIR : -EINVAL;
    if (fd < 0) {
        own = sys_reopen(inode->fd, O_WRONLY | O_NONBLOCK);
        if (own < 0)
            return own;
        fd = own;
    }
    rc = sys_ftruncate(fd, attr->size);
    if (rc == 0 && attr->valid & IC_KILL_PRIV)
        rc = kill_suid(fd);
    return rc;
}

static int set_owner(struct ic_inode *inode, const struct ic_setattr *attr)
{
    int rc = sys_chown_fd(inode->fd,
                          attr->valid & IC_SET_UID ? attr->uid : (uid_t)-1,
                          attr->valid & IC_SET_GID ? attr->gid : (gid_t)-1);

    /* The server's user namespace has no such id (user_namespaces(7)). */
    return rc == -EINVAL ? -EPERM : rc;
}

static int set_times(struct ic_inode *inode, const struct ic_setattr *attr)
{
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
                                 { .tv_nsec = UTIME_OMIT } };

    if (attr->valid & IC_SET_ATIME)
        times[0] = attr->atime;
    if (attr->valid & IC_SET_MTIME)
        times[1] = attr->mtime;
    return sys_utimens_fd(inode->fd, times);
}

static int apply(struct ic_inode *inode, int fd, const struct ic_setattr *attr)
{
    int rc = 0;

    if (attr->valid & IC_SET_SIZE)
        rc = set_size(inode, fd, attr);
    if (rc == 0 && attr->valid & (IC_SET_UID | IC_SET_GID))
        rc = set_owner(inode, attr);
    if (rc == 0 && attr->valid & IC_SET_MODE)
        rc = sys_chmod_fd(inode->fd, attr->mode & 07777);
    if (rc == 0 && attr->valid & (IC_SET_ATIME | IC_SET_MTIME))
        rc = set_times(inode, attr);
    return rc;
}

static int check_grants(struct ic *ic, const struct ic_inode *inode, int fd,
                        const struct ic_setattr *attr)
{
    int rc = attr->valid & IC_SET_MODE
                 ? grants_check_mode(ic, inode->type | (attr->mode & 07777))
                 : 0;

    return rc == 0 && attr->valid & IC_SET_SIZE && fd < 0
               ? grants_check_write(ic, inode)
               : rc;
}

static int setattr_once(struct ic *ic, struct ic_inode *inode, int fd,
                        const struct ic_setattr *attr)
{
    int rc = check_grants(ic, inode, fd, attr);

    if (rc == 0)
        rc = safeguard_enter(ic, inode,
                             attr->valid & IC_SET_SIZE ? attr->size
                                                       : SAFEGUARD_NOTHING);
    if (rc < 0)
        return rc;
    rc = keep_owner(ic, inode, attr);
    if (rc == 0)
        rc = attr->valid & IC_SET_SIZE && S_ISREG(inode->type)
                 ? keep_data(ic, inode, attr->size, RANGE_END)
                 : keep_meta(ic, inode);
    if (rc == 0)
        rc = apply(inode, fd, attr);
    if (rc == 0)
        writing_note(ic, inode);
    engine_leave(ic);
    return rc;
}

int ic_setattr(struct ic *ic, struct ic_inode *inode, int fd,
               const struct ic_setattr *attr, struct stat *ret_stat)
{
    int rc = MUTATE_WITH_ROOM(ic, limits_make_room,
                              setattr_once(ic, inode, fd, attr));

    return rc == 0 && ret_stat ? ic_stat(ic, inode, ret_stat) : rc;
}

static int setxattr_once(struct ic *ic, struct ic_inode *inode,
                         const char *name, const void *value, size_t size,
                         int flags)
{
    int rc = grants_check_xattr(ic, name);

    if (rc == 0)
        rc = engine_enter(ic, inode);
    if (rc < 0)
        return rc;
    rc = keep_meta(ic, inode);
    if (rc == 0)
        rc = sys_setxattr_fd(inode->fd, name, value, size, flags);
    if (rc == 0)
        writing_note(ic, inode);
    engine_leave(ic);
    return rc;
}

int ic_setxattr(struct ic *ic, struct ic_inode *inode, const char *name,
                const void *value, size_t size, int flags)
{
    return MUTATE_WITH_ROOM(ic, limits_make_room,
                            setxattr_once(ic, inode, name, value, size, flags));
}

static int removexattr_once(struct ic *ic, struct ic_inode *inode,
                            const char *name)
{
    int rc = engine_enter(ic, inode);

    if (rc < 0)
        return rc;
    rc = keep_meta(ic, inode);
    if (rc == 0)
        rc = sys_removexattr_fd(inode->fd, name);
    if (rc == 0)
        writing_note(ic, inode);
    engine_leave(ic);
    return rc;
}

int ic_removexattr(struct ic *ic, struct ic_inode *inode, const char *name)
{
    return MUTATE_WITH_ROOM(ic, limits_make_room,
                            removexattr_once(ic, inode, name));
}
