/* SPDX-License-Identifier: Apache-2.0
 *
 * request - see request.h.
 */
#include "p9/server/request.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/fd_reserve.h"

size_t p9_request_reply_size(const struct p9_request *request)
{
    if (request->m.type != P9_TREAD && request->m.type != P9_TREADDIR)
        return 0;
    return MIN(request->m.read.count, request->msize - P9_IO_HEADER);
}

/* ---- helpers of the handlers --------------------------------------------- */

int p9_request_name(const struct p9_string *name, char ret_name[NAME_MAX + 1])
{
    if (name->len == 0 || memchr(name->at, '\0', name->len) ||
        memchr(name->at, '/', name->len))
        return -EINVAL;
    if (name->len > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(ret_name, name->at, name->len);
    ret_name[name->len] = '\0';
    return strcmp(ret_name, ".") == 0 || strcmp(ret_name, "..") == 0 ? -EINVAL
                                                                     : 0;
}

/* Derive the qid's version: every change of an inode changes its ctime. 0 would
 * tell a client not to cache the file at all. */
static uint32_t version_of(const struct stat *st)
{
    uint64_t mixed = (uint64_t)st->st_ctim.tv_sec * 1000000007u +
                     (uint64_t)st->st_ctim.tv_nsec;
    uint32_t version = (uint32_t)(mixed ^ mixed >> 32) ^ (uint32_t)st->st_size
                                                             << 8;

    return version ? version : 1;
}

/* Inode numbers of file systems mounted below the share may equal those of the
 * share or of another mount, so mix the device into the upper bits. Few file
 * systems use the upper bits themselves, and within one file system the numbers
 * stay unique. */
uint64_t p9_request_number(const struct p9_request *request, dev_t dev,
                           uint64_t ino)
{
    struct ic_inode *root = ic_root(request->server->ic);
    uint64_t mixed = (uint64_t)dev * 0x9e3779b97f4a7c15u;

    if (dev == ic_inode_dev(root))
        return ino;
    return ino ^ (mixed >> 40 << 40 | (uint64_t)1 << 63);
}

struct p9_qid p9_request_qid(const struct p9_request *request,
                             const struct stat *st)
{
    return (struct p9_qid){
        .type = S_ISDIR(st->st_mode)   ? P9_QID_DIR
                : S_ISLNK(st->st_mode) ? P9_QID_SYMLINK
                                       : P9_QID_FILE,
        .version = version_of(st),
        .path = p9_request_number(request, st->st_dev, st->st_ino),
    };
}

/* Requests that carry data, or are slow, have exactly one fid, at their
 * start. */
void p9_request_hold(struct p9_request *request)
{
    if (!request->held && (request->op->flags & (P9_OP_DATA | P9_OP_SLOW)))
        request->held = p9_fids_get(request->fids, request->m.fid);
}

bool p9_request_is_attribute(const struct p9_request *request)
{
    struct p9_fid *fid = p9_fids_get(request->fids, request->m.fid);
    bool is = fid && (fid->kind == P9_FID_XATTR_READ ||
                      fid->kind == P9_FID_XATTR_WRITE);

    p9_fid_unref(fid);
    return is;
}

int p9_request_fid(const struct p9_request *request, uint32_t id,
                   struct p9_fid **ret_fid)
{
    struct p9_fid *fid = request->held ? p9_fid_ref(request->held)
                                       : p9_fids_get(request->fids, id);
    int r = fid ? ic_inode_use(request->server->ic, fid->inode) : -EBADF;

    if (r < 0)
        p9_fid_unref(g_steal_pointer(&fid));
    *ret_fid = fid;
    return r;
}

void p9_request_put(struct p9_fid *fid)
{
    if (!fid)
        return;
    ic_inode_unref(fid->inode);
    p9_fid_unref(fid);
}

int p9_request_new_name(const struct p9_request *request, uint32_t id,
                        const struct p9_string *name, struct p9_fid **ret_fid,
                        char ret_name[NAME_MAX + 1])
{
    struct p9_server *server = request->server;
    struct p9_fid *fid;
    int r = p9_request_fid(request, id, &fid);

    if (r == 0)
        r = p9_request_name(name, ret_name);
    if (r == 0 && !S_ISDIR(ic_inode_type(fid->inode)))
        r = -ENOTDIR;
    if (r == 0)
        r = server->config.profile->check_name(server->profile, ret_name);
    if (r == 0)
        r = fd_reserve_room(server->ic);
    if (r == 0)
        *ret_fid = fid;
    else
        p9_request_put(fid);
    return r;
}

int p9_request_cred(const struct p9_request *request, const struct p9_fid *dir,
                    uint32_t gid, struct ic_cred *ret_cred)
{
    const struct id_maps *ids = &request->server->config.ids;
    uint32_t own = id_map_to_guest(ids->groups, getegid());

    return id_maps_to_cred(ids, dir->uid, gid == P9_NO_UID ? own : gid,
                           ret_cred);
}

struct p9_new p9_request_new(struct p9_request *request,
                             const struct p9_fid *dir, const char *name,
                             const struct ic_cred *cred, mode_t mode)
{
    return (struct p9_new){ .cred = cred,
                            .dir = dir->inode,
                            .name = name,
                            .mode = mode,
                            .making = &request->making };
}

int p9_request_lookup(const struct p9_request *request, struct ic_inode *dir,
                      const char *name, struct ic_inode **ret_inode,
                      struct stat *ret_stat)
{
    struct p9_server *server = request->server;

    int r;

    if (!S_ISDIR(ic_inode_type(dir)))
        return -ENOTDIR;
    r = server->config.profile->lookup(server->profile, dir, name, ret_inode,
                                       ret_stat);
    if (r < 0)
        return r;
    r = fd_reserve_check(server->ic, ic_inode_fd(*ret_inode));
    if (r < 0)
        ic_inode_unref(*ret_inode);
    return r;
}

int p9_request_stat(const struct p9_request *request, struct ic_inode *inode,
                    const char *name, struct stat *ret_stat)
{
    struct p9_server *server = request->server;

    return server->config.profile->get(server->profile, inode, name, ret_stat);
}

/* Return the fid's place, if the profile needs names; release it with
 * p9_place_unref(). */
static struct p9_place *place_of(const struct p9_request *request,
                                 struct p9_fid *fid)
{
    return request->server->config.profile->wants_names ? p9_fid_place(fid)
                                                        : NULL;
}

int p9_request_stat_fid(const struct p9_request *request, struct p9_fid *fid,
                        struct stat *ret_stat)
{
    struct p9_place *place = place_of(request, fid);
    int r = p9_request_stat(request, fid->inode, place ? place->name : NULL,
                            ret_stat);

    p9_place_unref(place);
    return r;
}

int p9_request_set(const struct p9_request *request, struct p9_fid *fid,
                   const struct ic_setattr *attr)
{
    struct p9_server *server = request->server;
    struct p9_place *place = place_of(request, fid);
    int r = server->config.profile->set(server->profile, fid->inode,
                                        place ? place->name : NULL,
                                        fid->writable ? fid->fd : -1, attr);

    p9_place_unref(place);
    return r;
}

mode_t p9_request_type(const struct p9_request *request,
                       const struct p9_fid *fid)
{
    struct p9_server *server = request->server;

    return server->config.profile->type(server->profile, fid->inode);
}
