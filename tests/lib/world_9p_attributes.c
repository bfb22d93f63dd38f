/* SPDX-License-Identifier: Apache-2.0
 *
 * world_9p_attributes - see world_9p.h: operations on attributes and sizes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#include "tests/lib/world_9p.h"

enum { PIECE = 1 << 20 };

static struct world_9p *of(struct world *w)
{
    return w->state;
}

int world_9p_stat(struct world *w, const char *path, struct stat *ret_stat)
{
    uint32_t fid;
    int r = world_9p_walk(w, path, &fid);

    return r < 0
               ? r
               : world_9p_clunk(w, fid, p9_stat(of(w)->client, fid, ret_stat));
}

static int set(struct world *w, uint32_t fid, struct p9_message *m)
{
    m->type = P9_TSETATTR;
    m->setattr.fid = fid;
    return p9_client_call(of(w)->client, m, NULL);
}

static int set_path(struct world *w, const char *path, struct p9_message *m)
{
    uint32_t fid;
    int r = world_9p_walk(w, path, &fid);

    return r < 0 ? r : world_9p_clunk(w, fid, set(w, fid, m));
}

int world_9p_chmod(struct world *w, const char *path, mode_t mode)
{
    struct p9_message m = { 0 };

    m.setattr.valid = P9_SETATTR_MODE;
    m.setattr.mode = mode;
    return set_path(w, path, &m);
}

/* Act like the client's kernel for root: a user with the right to change owners
 * keeps suid bits only on directories. */
int world_9p_chown(struct world *w, const char *path, uid_t uid, gid_t gid)
{
    struct p9_message m = { 0 };
    struct stat st;
    int r = world_9p_stat(w, path, &st);

    if (r < 0)
        return r;
    m.setattr.valid = (uid != (uid_t)-1 ? P9_SETATTR_UID : 0u) |
                      (gid != (gid_t)-1 ? P9_SETATTR_GID : 0u);
    m.setattr.uid = uid;
    m.setattr.gid = gid;
    if (S_ISREG(st.st_mode) && (st.st_mode & (S_ISUID | S_ISGID))) {
        m.setattr.valid |= P9_SETATTR_MODE;
        m.setattr.mode = st.st_mode & 07777 & ~(mode_t)S_ISUID;
        if (st.st_mode & S_IXGRP)
            m.setattr.mode &= ~(mode_t)S_ISGID;
    }
    return set_path(w, path, &m);
}

static uint32_t set_time(const struct timespec *time, struct p9_time *to,
                         uint32_t now, uint32_t given)
{
    to->sec = (uint64_t)time->tv_sec;
    to->nsec = (uint64_t)time->tv_nsec;
    return time->tv_nsec == UTIME_OMIT  ? 0
           : time->tv_nsec == UTIME_NOW ? now
                                        : now | given;
}

int world_9p_utimes(struct world *w, const char *path,
                    const struct timespec times[2])
{
    struct p9_message m = { 0 };

    m.setattr.valid = set_time(&times[0], &m.setattr.atime, P9_SETATTR_ATIME,
                               P9_SETATTR_ATIME_SET) |
                      set_time(&times[1], &m.setattr.mtime, P9_SETATTR_MTIME,
                               P9_SETATTR_MTIME_SET);
    return set_path(w, path, &m);
}

static int truncate_fid(struct world *w, uint32_t fid, off_t size)
{
    struct p9_message m = { 0 };

    m.setattr.valid = P9_SETATTR_SIZE;
    m.setattr.size = (uint64_t)size;
    return set(w, fid, &m);
}

int world_9p_truncate(struct world *w, const char *path, off_t size)
{
    uint32_t fid;
    int r = world_9p_walk(w, path, &fid);

    return r < 0 ? r : world_9p_clunk(w, fid, truncate_fid(w, fid, size));
}

int world_9p_handle_truncate(struct world *w, void *handle, off_t size)
{
    return truncate_fid(w, world_9p_to_fid(handle), size);
}

int world_9p_setxattr(struct world *w, const char *path, const char *name,
                      const void *value, size_t len)
{
    uint32_t fid;
    int r = world_9p_walk(w, path, &fid);

    if (r < 0)
        return r;
    return world_9p_clunk(w, fid,
                          p9_setxattr(of(w)->client, fid, name, value, len, 0));
}

int world_9p_removexattr(struct world *w, const char *path, const char *name)
{
    uint32_t fid;
    int r = world_9p_walk(w, path, &fid);

    if (r < 0)
        return r;
    return world_9p_clunk(
        w, fid,
        p9_setxattr(of(w)->client, fid, name, NULL, 0, P9_XATTR_REPLACE));
}

static int put_zeros(struct world *w, uint32_t fid, off_t offset, off_t len)
{
    g_autofree char *zeros = g_malloc0(PIECE);
    int r = 0;

    for (off_t n; r == 0 && len > 0; len -= n, offset += n) {
        n = MIN(len, PIECE);
        r = world_9p_write_fid(w, fid, zeros, (size_t)n, offset);
    }
    return r;
}

static int allocate(struct world *w, uint32_t fid, int mode, off_t offset,
                    off_t len)
{
    const int zeros = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE;
    struct stat st;
    int r = p9_stat(of(w)->client, fid, &st);

    if (r == 0 && (mode & zeros) && offset < st.st_size)
        r = put_zeros(w, fid, offset, MIN(len, st.st_size - offset));
    if (r == 0 && !(mode & FALLOC_FL_KEEP_SIZE) && offset + len > st.st_size)
        r = truncate_fid(w, fid, offset + len);
    return r;
}

int world_9p_fallocate(struct world *w, const char *path, int mode,
                       off_t offset, off_t len)
{
    uint32_t fid;
    int r;

    if (mode &
        ~(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE))
        return -EOPNOTSUPP;
    if (offset < 0 || len <= 0)
        return -EINVAL;
    r = world_9p_open_path(w, path, O_RDWR, &fid);
    return r < 0 ? r
                 : world_9p_clunk(w, fid, allocate(w, fid, mode, offset, len));
}

int world_9p_copy_range(struct world *w, const char *from, const char *to,
                        off_t from_offset, off_t to_offset, size_t len)
{
    g_autofree char *data = g_malloc(len + 1);
    uint32_t in, out;
    ssize_t n;
    int r = world_9p_open_path(w, from, O_RDONLY, &in);

    if (r < 0)
        return r;
    n = p9_read(of(w)->client, in, data, len, (uint64_t)from_offset);
    r = world_9p_clunk(w, in, n < 0 ? (int)n : 0);
    if (r == 0)
        r = world_9p_open_path(w, to, O_RDWR, &out);
    if (r < 0)
        return r;
    return world_9p_clunk(
        w, out,
        n > 0 ? world_9p_write_fid(w, out, data, (size_t)n, to_offset) : 0);
}
