/* SPDX-License-Identifier: Apache-2.0
 *
 * op_file - handlers of the messages on open files.
 *
 * Tread reads into the memory that is sent, and Twrite writes from the memory
 * that was received.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/fd.h"
#include "daemon/fd_reserve.h"
#include "p9/server/request.h"

/* Convert to this host's open flags. Append and sync are omitted: each write
 * sets its own. */
static int host_flags(uint32_t flags)
{
    return (int)(flags & P9_OPEN_ACCMODE) |
           (flags & P9_OPEN_EXCL ? O_EXCL : 0) |
           (flags & P9_OPEN_TRUNC ? O_TRUNC : 0) |
           (flags & P9_OPEN_NOATIME ? O_NOATIME : 0);
}

static int write_flags(uint32_t flags)
{
    int rwf = flags & P9_OPEN_APPEND ? RWF_APPEND : 0;

    if (flags & P9_OPEN_SYNC)
        return rwf | RWF_SYNC;
    return flags & P9_OPEN_DSYNC ? rwf | RWF_DSYNC : rwf;
}

static bool writes(uint32_t flags)
{
    return (flags & P9_OPEN_ACCMODE) != O_RDONLY;
}

static int check_flags(const struct p9_request *request, uint32_t flags)
{
    if ((flags & P9_OPEN_ACCMODE) == P9_OPEN_ACCMODE)
        return -EINVAL;
    if (request->server->config.read_only &&
        (writes(flags) || (flags & P9_OPEN_TRUNC)))
        return -EROFS;
    return 0;
}

/* Turn a fid into an open one, with this descriptor (taken). */
static int set_open(struct p9_request *request, struct p9_fid *fid, int fd,
                    uint32_t flags)
{
    bool is_dir = S_ISDIR(ic_inode_type(fid->inode));

    fid->fd = fd;
    fid->kind = is_dir ? P9_FID_DIR : P9_FID_FILE;
    fid->writable = writes(flags);
    if (fid->writable)
        fid->write_span = ic_write_opened(request->server->ic);
    fid->append = flags & P9_OPEN_APPEND;
    fid->rwf_flags = write_flags(flags);
    if (is_dir)
        fid->dir = dir_stream_new(fd);
    return fd_reserve_check(request->server->ic, fd);
}

/* Truncate as an unprivileged user does: suid and sgid bits are cleared, which
 * they are not for root. */
static int cut_as_user(struct p9_request *request, struct ic_inode *inode,
                       int fd, uint32_t flags)
{
    struct ic_setattr attr = { .valid = IC_SET_SIZE | IC_KILL_PRIV };
    struct p9_server *server = request->server;

    return server->config.profile->set(server->profile, inode, NULL,
                                       writes(flags) ? fd : -1, &attr);
}

static int open_inode(struct p9_request *request, const struct p9_fid *fid,
                      uint32_t flags, int *ret_fd)
{
    bool cut = (flags & P9_OPEN_TRUNC) && fid->uid != 0;
    fd_auto int fd = -1;
    int r;

    if (S_ISDIR(ic_inode_type(fid->inode))) {
        if (writes(flags) || (flags & P9_OPEN_TRUNC))
            return -EISDIR;
        return ic_open(request->server->ic, fid->inode, O_RDONLY | O_DIRECTORY,
                       ret_fd);
    }
    if (flags & P9_OPEN_DIRECTORY)
        return -ENOTDIR;
    if (S_ISLNK(p9_request_type(request, fid)))
        return -ELOOP;
    r = ic_open(request->server->ic, fid->inode,
                host_flags(flags) & ~(O_EXCL | (cut ? O_TRUNC : 0)), &fd);
    if (r == 0 && cut)
        r = cut_as_user(request, fid->inode, fd, flags);
    if (r == 0)
        *ret_fd = fd_steal(&fd);
    return r;
}

static int reply_open(struct p9_request *request, const struct stat *st)
{
    request->r.rlopen.qid = p9_request_qid(request, st);
    request->r.rlopen.iounit = request->msize - P9_IO_HEADER;
    return 0;
}

/* Open fid; the open object replaces it in the table. */
static int open_fid(struct p9_request *request, struct p9_fid *fid)
{
    uint32_t flags = request->m.lopen.flags;
    struct p9_fid *opened;
    struct stat st;
    int r, fd;

    if (fid->kind != P9_FID_PATH)
        return -EBADF;
    r = check_flags(request, flags);
    if (r == 0)
        r = fd_reserve_room(request->server->ic);
    if (r == 0)
        r = open_inode(request, fid, flags, &fd);
    if (r < 0)
        return r;
    opened = p9_fid_new(request->fids, ic_inode_ref(fid->inode),
                        p9_fid_place(fid), fid);
    if (!opened) {
        fd_close(&fd);
        return -ENFILE;
    }
    r = set_open(request, opened, fd, flags);
    if (r == 0)
        r = p9_request_stat_fid(request, fid, &st);
    if (r < 0) {
        p9_fid_unref(opened);
        return r;
    }
    p9_fid_raise_known_size(opened, atomic_load(&fid->known_size));
    p9_fid_raise_known_size(opened, (uint64_t)st.st_size);
    reply_open(request, &st);
    return p9_fids_replace(request->fids, request->m.lopen.fid, fid, opened);
}

int p9_op_lopen(struct p9_request *request)
{
    struct p9_fid *fid;
    int r = p9_request_fid(request, request->m.lopen.fid, &fid);

    if (r == 0)
        r = open_fid(request, fid);
    p9_request_put(fid);
    return r;
}

/* ---- creating ------------------------------------------------------------ */

/* Create a file; if the name exists by now, truncate its file. */
static int create(struct p9_request *request, struct p9_fid *dir,
                  const char *name, struct p9_made *made)
{
    const struct p9_message *m = &request->m;
    struct p9_server *server = request->server;
    const struct p9_profile *profile = server->config.profile;
    struct ic_cred cred;
    struct p9_new new = p9_request_new(request, dir, name, &cred,
                                       m->lcreate.mode & 07777);
    uint32_t flags = m->lcreate.flags;
    bool cut = (flags & P9_OPEN_TRUNC) && dir->uid != 0;
    int r = p9_request_cred(request, dir, m->lcreate.gid, &cred);

    if (r == 0)
        r = profile->create(server->profile, &new,
                            host_flags(flags) & ~(cut ? O_TRUNC : 0), made);
    if (r < 0)
        return r;
    /* Opening a directory for reading succeeds; creating it as a file must
     * fail. */
    if (S_ISDIR(made->st.st_mode))
        r = -EISDIR;
    else if (!cut || (made->st.st_size == 0 &&
                      !(made->st.st_mode & (S_ISUID | S_ISGID))))
        return 0;
    if (r == 0)
        r = cut_as_user(request, made->inode, made->fd, flags);
    if (r == 0)
        r = p9_request_stat(request, made->inode, name, &made->st);
    if (r < 0) {
        fd_close(&made->fd);
        ic_inode_unref(made->inode);
    }
    return r;
}

/* The directory's fid refers to the new file from then on. */
static int create_fid(struct p9_request *request, struct p9_fid *dir,
                      const char *name)
{
    struct p9_fid *opened;
    struct p9_made made;
    int r = create(request, dir, name, &made);

    if (r < 0)
        return r;
    opened = p9_fid_new(request->fids, made.inode,
                        p9_place_new(dir->inode, name), dir);
    if (!opened) {
        fd_close(&made.fd);
        return -ENFILE;
    }
    r = set_open(request, opened, made.fd, request->m.lcreate.flags);
    if (r < 0) {
        p9_fid_unref(opened);
        return r;
    }
    reply_open(request, &made.st);
    return p9_fids_replace(request->fids, request->m.lcreate.fid, dir, opened);
}

int p9_op_lcreate(struct p9_request *request)
{
    const struct p9_message *m = &request->m;
    char name[NAME_MAX + 1];
    struct p9_fid *dir;
    int r = p9_request_new_name(request, m->lcreate.fid, &m->lcreate.name, &dir,
                                name);

    if (r < 0)
        return r;
    r = dir->kind == P9_FID_PATH ? check_flags(request, m->lcreate.flags)
                                 : -EBADF;
    if (r == 0)
        r = create_fid(request, dir, name);
    p9_request_put(dir);
    return r;
}

/* ---- content ------------------------------------------------------------- */

/* Bound repeated empty reads. A Linux client of 6.8 and later (netfs) that
 * believes a file to be longer than it is, because another process truncated it
 * while it was open, reads the rest again and again; only an error ends that,
 * neither a signal nor an empty reply. A process that follows a growing file
 * also reads at its end, perhaps as often; but there, as far as the client
 * knows, the file was never longer. */
enum {
    VAIN_READS = 1000,
    VAIN_US = 2 * G_USEC_PER_SEC,
    VAIN_PAUSE_US = 50000, /* a reader that pauses this long, on average, may
                            * go on forever */
};

static bool are_too_many(struct p9_fid *fid, uint64_t offset)
{
    int64_t now = g_get_monotonic_time();
    bool again, too_many;

    pthread_mutex_lock(&fid->lock);
    again = fid->vain.offset == offset &&
            now - fid->vain.since_us < (int64_t)VAIN_PAUSE_US * fid->vain.count;
    fid->vain.offset = offset;
    if (!again) {
        fid->vain.since_us = now;
        fid->vain.count = 0;
    }
    fid->vain.count++;
    too_many = now - fid->vain.since_us > VAIN_US &&
               fid->vain.count >= VAIN_READS;
    pthread_mutex_unlock(&fid->lock);
    return too_many;
}

/* p9_fids_known_size() looks at all fids, so call it once per 2 s at most. */
static int note_vain_read(struct p9_request *request, struct p9_fid *fid,
                          uint64_t offset)
{
    if (!are_too_many(fid, offset))
        return 0;
    if (p9_fids_known_size(request->fids, fid->inode) > offset)
        return -ESTALE;
    pthread_mutex_lock(&fid->lock);
    fid->vain.since_us = g_get_monotonic_time();
    pthread_mutex_unlock(&fid->lock);
    return 0;
}

static int read_file(struct p9_request *request, struct p9_fid *fid)
{
    uint8_t *to = request->out + P9_DATA_AT;
    size_t count = p9_request_reply_size(request);
    ssize_t n;

    if (request->m.read.offset > INT64_MAX)
        return -EINVAL;
    n = pread(fid->fd, to, count, (off_t)request->m.read.offset);
    if (n < 0)
        return -errno;
    request->r.data = (struct p9_data){ to, (uint32_t)n };
    return n == 0 && count > 0
               ? note_vain_read(request, fid, request->m.read.offset)
               : 0;
}

int p9_op_read(struct p9_request *request)
{
    struct p9_fid *fid;
    int r = p9_request_fid(request, request->m.read.fid, &fid);

    if (r == 0 && fid->kind == P9_FID_FILE)
        r = read_file(request, fid);
    else if (r == 0 && fid->kind == P9_FID_XATTR_READ)
        r = p9_xattr_read(request, fid);
    else if (r == 0)
        r = fid->kind == P9_FID_DIR ? -EISDIR : -EBADF;
    p9_request_put(fid);
    return r;
}

static int write_file(struct p9_request *request, struct p9_fid *fid)
{
    const struct p9_message *m = &request->m;
    struct p9_server *server = request->server;
    struct iovec iov = { (void *)m->write.data.at, m->write.data.count };
    ssize_t n;
    int r;

    if (!fid->writable)
        return -EBADF;
    if (m->write.offset > INT64_MAX)
        return -EINVAL;
    if (fid->uid != 0 && server->config.profile->before_write &&
        (r = server->config.profile->before_write(server->profile,
                                                  fid->inode)) < 0)
        return r;
    n = ic_pwritev(server->ic, fid->inode, fid->fd, &iov, 1,
                   (off_t)m->write.offset, fid->rwf_flags, fid->uid != 0);
    if (n < 0)
        return (int)n;
    p9_fid_raise_known_size(fid, m->write.offset + (uint64_t)n);
    request->r.count = (uint32_t)n;
    return 0;
}

int p9_op_write(struct p9_request *request)
{
    struct p9_fid *fid;
    int r = p9_request_fid(request, request->m.write.fid, &fid);

    if (r == 0 && fid->kind == P9_FID_FILE)
        r = write_file(request, fid);
    else if (r == 0 && fid->kind == P9_FID_XATTR_WRITE)
        r = p9_xattr_write(request, fid);
    else if (r == 0)
        r = -EBADF;
    p9_request_put(fid);
    return r;
}

int p9_op_fsync(struct p9_request *request)
{
    struct p9_fid *fid;
    int r = p9_request_fid(request, request->m.fsync.fid, &fid);

    if (r == 0 && fid->fd < 0)
        r = -EBADF;
    if (r == 0) {
        r = request->m.fsync.datasync ? fdatasync(fid->fd) : fsync(fid->fd);
        r = r < 0 ? -errno : 0;
    }
    p9_request_put(fid);
    return r;
}
