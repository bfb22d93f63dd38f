/* SPDX-License-Identifier: Apache-2.0
 *
 * request - see request.h: the table of types, and what handlers share.
 */
#include "p9/server/request.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "daemon/fd_reserve.h"
#include "p9/server/conn.h"

/* Tversion and Tflush are the connection's. */
static const struct p9_op ops[] = {
    [P9_TSTATFS] = { p9_op_statfs },
    [P9_TLOPEN] = { p9_op_lopen },
    [P9_TLCREATE] = { p9_op_lcreate },
    [P9_TSYMLINK] = { p9_op_symlink },
    [P9_TMKNOD] = { p9_op_mknod },
    [P9_TRENAME] = { p9_op_rename },
    [P9_TREADLINK] = { p9_op_readlink },
    [P9_TGETATTR] = { p9_op_getattr },
    [P9_TSETATTR] = { p9_op_setattr },
    [P9_TXATTRWALK] = { p9_op_xattrwalk },
    [P9_TXATTRCREATE] = { p9_op_xattrcreate },
    [P9_TREADDIR] = { p9_op_readdir, P9_OP_DATA },
    [P9_TFSYNC] = { p9_op_fsync, P9_OP_SLOW },
    [P9_TLOCK] = { p9_op_lock, P9_OP_LOCK },
    [P9_TGETLOCK] = { p9_op_getlock },
    [P9_TLINK] = { p9_op_link },
    [P9_TMKDIR] = { p9_op_mkdir },
    [P9_TRENAMEAT] = { p9_op_renameat },
    [P9_TUNLINKAT] = { p9_op_unlinkat },
    [P9_TAUTH] = { p9_op_auth },
    [P9_TATTACH] = { p9_op_attach },
    [P9_TWALK] = { p9_op_walk },
    [P9_TREAD] = { p9_op_read, P9_OP_DATA },
    [P9_TWRITE] = { p9_op_write, P9_OP_DATA },
    [P9_TCLUNK] = { p9_op_clunk },
    [P9_TREMOVE] = { p9_op_remove },
};

const struct p9_op *p9_op_find(uint8_t type)
{
    return type < G_N_ELEMENTS(ops) && ops[type].handle ? &ops[type] : NULL;
}

size_t p9_request_reply_size(const struct p9_request *request)
{
    if (request->m.type != P9_TREAD && request->m.type != P9_TREADDIR)
        return 0;
    return MIN(request->m.read.count, request->msize - P9_IO_HEADER);
}

void p9_request_run(struct p9_request *request)
{
    struct p9_server *server = request->server;
    size_t size = p9_request_reply_size(request) + P9_DATA_AT;
    uint64_t releases = parked_releases(server->parked);
    uint8_t small[P9_SMALL_REPLY];
    bool big = size > sizeof(small);
    uint8_t *out = big ? p9_buffers_get(server->buffers, size) : small;
    int r = -ENOMEM;

    request->out = out ? out : small;
    request->room = out && big ? size : sizeof(small);
    request->r.type = (uint8_t)(request->m.type + 1);
    if (out)
        r = request->op->handle(request);
    log_trace(LOG_FS_BACKEND, "%s tag %u: %d", p9_message_name(request->m.type),
              request->m.tag, r);
    p9_conn_done(request, r, releases);
    if (big)
        p9_buffers_put(server->buffers, out, size);
}

/* ---- what handlers share ------------------------------------------------- */

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

/* Every change of an inode changes its ctime; 0 would tell a client that it
 * must not cache the file at all. */
static uint32_t version_of(const struct stat *st)
{
    uint64_t mixed = (uint64_t)st->st_ctim.tv_sec * 1000000007u +
                     (uint64_t)st->st_ctim.tv_nsec;
    uint32_t version = (uint32_t)(mixed ^ mixed >> 32) ^ (uint32_t)st->st_size
                                                             << 8;

    return version ? version : 1;
}

/* Of what is mounted below, the numbers may be those of files of the share, or
 * of another mount. Few file systems use the upper bits themselves, and within
 * one it is still one number each. */
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

/* Those that carry data, or are slow, have one fid, at their start. */
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

/* Where the fid was met, if the profile cares; p9_place_unref(). */
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
