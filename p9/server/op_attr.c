/* SPDX-License-Identifier: Apache-2.0
 *
 * op_attr - handlers of the messages on attributes.
 */
#include <errno.h>
#include <fcntl.h>

#include "p9/server/request.h"

/* ---- reading ------------------------------------------------------------- */

static struct p9_time to_time(const struct timespec *t)
{
    return (struct p9_time){ (uint64_t)t->tv_sec, (uint64_t)t->tv_nsec };
}

/* Add the birth time, which stat(2) lacks, if the client asks for it. */
static void fill_birth(struct p9_request *request, struct ic_inode *inode)
{
    struct statx sx;

    if (!(request->m.getattr.mask & P9_GETATTR_BTIME) ||
        statx(ic_inode_fd(inode), "", AT_EMPTY_PATH, STATX_BTIME, &sx) < 0 ||
        !(sx.stx_mask & STATX_BTIME))
        return;
    request->r.rgetattr.valid |= P9_GETATTR_BTIME;
    request->r.rgetattr.btime.sec = (uint64_t)sx.stx_btime.tv_sec;
    request->r.rgetattr.btime.nsec = sx.stx_btime.tv_nsec;
}

static void fill_attributes(struct p9_request *request, const struct stat *st)
{
    const struct id_maps *ids = &request->server->config.ids;
    struct p9_message *r = &request->r;

    r->rgetattr.valid = P9_GETATTR_BASIC;
    r->rgetattr.qid = p9_request_qid(request, st);
    r->rgetattr.mode = st->st_mode;
    r->rgetattr.uid = id_map_to_guest(ids->users, st->st_uid);
    r->rgetattr.gid = id_map_to_guest(ids->groups, st->st_gid);
    r->rgetattr.nlink = st->st_nlink;
    r->rgetattr.rdev = st->st_rdev;
    r->rgetattr.size = (uint64_t)st->st_size;
    r->rgetattr.blksize = (uint64_t)st->st_blksize;
    r->rgetattr.blocks = (uint64_t)st->st_blocks;
    r->rgetattr.atime = to_time(&st->st_atim);
    r->rgetattr.mtime = to_time(&st->st_mtim);
    r->rgetattr.ctime = to_time(&st->st_ctim);
    r->rgetattr.btime = (struct p9_time){ 0, 0 };
    r->rgetattr.gen = r->rgetattr.data_version = 0;
}

int p9_op_getattr(struct p9_request *request)
{
    struct p9_fid *fid;
    struct stat st;
    int r = p9_request_fid(request, request->m.getattr.fid, &fid);

    if (r == 0)
        r = p9_request_stat_fid(request, fid, &st);
    if (r == 0) {
        fill_attributes(request, &st);
        p9_fid_raise_known_size(fid, (uint64_t)st.st_size);
        fill_birth(request, fid->inode);
    }
    p9_request_put(fid);
    return r;
}

/* ---- setting ------------------------------------------------------------- */

static struct timespec from_time(const struct p9_time *time, bool given)
{
    return (struct timespec){ .tv_sec = (time_t)time->sec,
                              .tv_nsec = given ? (long)time->nsec : UTIME_NOW };
}

static bool is_bad_time(const struct p9_time *time, bool given)
{
    return given && time->nsec > 999999999;
}

static int convert(const struct p9_message *m, const struct p9_fid *fid,
                   struct ic_setattr *ret_attr)
{
    static const struct {
        uint32_t wire;
        unsigned set;
    } bits[] = {
        { P9_SETATTR_MODE, IC_SET_MODE },   { P9_SETATTR_UID, IC_SET_UID },
        { P9_SETATTR_GID, IC_SET_GID },     { P9_SETATTR_SIZE, IC_SET_SIZE },
        { P9_SETATTR_ATIME, IC_SET_ATIME }, { P9_SETATTR_MTIME, IC_SET_MTIME },
    };
    uint32_t valid = m->setattr.valid;
    bool atime = valid & P9_SETATTR_ATIME_SET;
    bool mtime = valid & P9_SETATTR_MTIME_SET;

    if (((valid & P9_SETATTR_SIZE) && m->setattr.size > INT64_MAX) ||
        is_bad_time(&m->setattr.atime, atime) ||
        is_bad_time(&m->setattr.mtime, mtime))
        return -EINVAL;
    *ret_attr = (struct ic_setattr){
        .mode = m->setattr.mode & 07777,
        .uid = m->setattr.uid,
        .gid = m->setattr.gid,
        .size = (off_t)m->setattr.size,
        .atime = from_time(&m->setattr.atime, atime),
        .mtime = from_time(&m->setattr.mtime, mtime),
    };
    for (size_t i = 0; i < G_N_ELEMENTS(bits); i++) {
        if (valid & bits[i].wire)
            ret_attr->valid |= bits[i].set;
    }
    if (fid->uid != 0 &&
        (ret_attr->valid & (IC_SET_SIZE | IC_SET_UID | IC_SET_GID)))
        ret_attr->valid |= IC_KILL_PRIV;
    return 0;
}

/* Change only the ctime, by a change that has no other effect. */
static int touch(struct p9_request *request, struct p9_fid *fid,
                 struct ic_setattr *attr)
{
    struct stat st;
    int r = p9_request_stat_fid(request, fid, &st);

    attr->valid = IC_SET_MODE;
    attr->mode = st.st_mode & 07777;
    return r;
}

int p9_op_setattr(struct p9_request *request)
{
    const struct p9_message *m = &request->m;
    struct p9_fid *fid;
    struct ic_setattr attr;
    int r = p9_request_fid(request, m->setattr.fid, &fid);

    if (r == 0)
        r = convert(m, fid, &attr);
    if (r == 0)
        r = id_maps_to_owner(&request->server->config.ids, &attr);
    if (r == 0 && attr.valid == 0 && (m->setattr.valid & P9_SETATTR_CTIME) &&
        !S_ISLNK(p9_request_type(request, fid)))
        r = touch(request, fid, &attr);
    if (r == 0 && attr.valid)
        r = p9_request_set(request, fid, &attr);
    /* The client knows the size that it set. */
    if (r == 0 && (attr.valid & IC_SET_SIZE))
        atomic_store(&fid->known_size, (uint64_t)attr.size);
    p9_request_put(fid);
    return r;
}
