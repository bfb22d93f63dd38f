/* SPDX-License-Identifier: Apache-2.0
 *
 * op_names - handlers that create, rename and remove names.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/proc_fd.h"
#include "p9/server/request.h"

/* Reply with the qid of a new object. */
static int reply_made(struct p9_request *request, int r,
                      const struct p9_made *made)
{
    if (r < 0)
        return r;
    request->r.qid = p9_request_qid(request, &made->st);
    ic_inode_unref(made->inode);
    return 0;
}

int p9_op_mkdir(struct p9_request *request)
{
    const struct p9_message *m = &request->m;
    struct p9_server *server = request->server;
    char name[NAME_MAX + 1];
    struct ic_cred cred;
    struct p9_made made;
    struct p9_new new;
    struct p9_fid *dir;
    int r = p9_request_new_name(request, m->mkdir.fid, &m->mkdir.name, &dir,
                                name);

    if (r < 0)
        return r;
    r = p9_request_cred(request, dir, m->mkdir.gid, &cred);
    new = p9_request_new(request, dir, name, &cred, m->mkdir.mode & 07777);
    if (r == 0)
        r = server->config.profile->make_dir(server->profile, &new, &made);
    p9_request_put(dir);
    return reply_made(request, r, &made);
}

int p9_op_mknod(struct p9_request *request)
{
    const struct p9_message *m = &request->m;
    struct p9_server *server = request->server;
    char name[NAME_MAX + 1];
    struct ic_cred cred;
    struct p9_made made;
    struct p9_new new;
    struct p9_fid *dir;
    int r;

    if (server->config.no_mknod && !S_ISREG(m->mknod.mode))
        return -EPERM;
    r = p9_request_new_name(request, m->mknod.fid, &m->mknod.name, &dir, name);
    if (r < 0)
        return r;
    r = p9_request_cred(request, dir, m->mknod.gid, &cred);
    new = p9_request_new(request, dir, name, &cred, m->mknod.mode);
    if (r == 0)
        r = server->config.profile->make_node(
            server->profile, &new, makedev(m->mknod.major, m->mknod.minor),
            &made);
    p9_request_put(dir);
    return reply_made(request, r, &made);
}

int p9_op_symlink(struct p9_request *request)
{
    const struct p9_message *m = &request->m;
    const struct p9_string *target = &m->symlink.target;
    struct p9_server *server = request->server;
    char name[NAME_MAX + 1], text[PATH_MAX];
    struct ic_cred cred;
    struct p9_made made;
    struct p9_new new;
    struct p9_fid *dir;
    int r;

    if (target->len >= sizeof(text))
        return -ENAMETOOLONG;
    if (memchr(target->at, '\0', target->len))
        return -EINVAL;
    memcpy(text, target->at, target->len);
    text[target->len] = '\0';
    r = p9_request_new_name(request, m->symlink.fid, &m->symlink.name, &dir,
                            name);
    if (r < 0)
        return r;
    r = p9_request_cred(request, dir, m->symlink.gid, &cred);
    new = p9_request_new(request, dir, name, &cred, 0777);
    if (r == 0)
        r = server->config.profile->make_symlink(server->profile, &new, text,
                                                 &made);
    p9_request_put(dir);
    return reply_made(request, r, &made);
}

int p9_op_link(struct p9_request *request)
{
    const struct p9_message *m = &request->m;
    struct p9_server *server = request->server;
    struct p9_place *place = NULL;
    struct p9_fid *fid, *dir;
    char name[NAME_MAX + 1];
    int r = p9_request_fid(request, m->rename.fid, &fid);

    if (r == 0)
        r = p9_request_new_name(request, m->rename.dfid, &m->rename.name, &dir,
                                name);
    if (r == 0) {
        place = p9_fid_place(fid);
        r = server->config.profile->link(server->profile, fid->inode,
                                         place ? place->name : NULL, dir->inode,
                                         name);
        p9_place_unref(place);
        p9_request_put(dir);
    }
    p9_request_put(fid);
    return r;
}

/* ---- by fid -------------------------------------------------------------- */

static void put_place(struct p9_place *place)
{
    if (place)
        ic_inode_unref(place->dir);
    p9_place_unref(place);
}

/* Return the place of a directory that was reached from below, by "..": the
 * kernel knows its name. A reference to the inode is held. *ret_place is
 * new. */
static int find_own_name(struct p9_request *request, struct ic_inode *inode,
                         struct p9_place **ret_place)
{
    struct proc_fd_path path = proc_fd_path(ic_inode_fd(inode));
    char target[PATH_MAX], *name;
    struct ic_inode *parent;
    ssize_t n = readlink(path.text, target, sizeof(target) - 1);
    int r;

    if (n < 0)
        return -errno;
    target[n] = '\0';
    name = strrchr(target, '/');
    if (!name || !name[1])
        return -ENOENT;
    r = ic_lookup_parent(request->server->ic, inode, &parent);
    if (r < 0)
        return r;
    *ret_place = p9_place_new(parent, name + 1);
    ic_inode_unref(parent);
    return 0;
}

static int known_place(struct p9_request *request, struct p9_fid *fid,
                       struct p9_place **ret_place)
{
    struct ic *ic = request->server->ic;
    int r;

    *ret_place = p9_fid_place(fid);
    if (*ret_place)
        return 0;
    if (fid->inode == fid->root || fid->inode == ic_root(ic))
        return -EBUSY;
    r = ic_inode_use(ic, fid->inode);
    if (r < 0)
        return r;
    r = find_own_name(request, fid->inode, ret_place);
    ic_inode_unref(fid->inode);
    return r;
}

/* Find the current place of a fid, with a reference to the directory; release
 * it with put_place(). Return -EBUSY for a root, -ENOENT if the fid is no
 * longer where it was reached. */
static int find_place(struct p9_request *request, struct p9_fid *fid,
                      struct p9_place **ret_place)
{
    struct p9_place *place;
    struct ic_inode *there = NULL;
    int r = known_place(request, fid, &place);

    if (r == 0)
        r = ic_inode_use(request->server->ic, place->dir);
    if (r < 0) {
        p9_place_unref(place);
        return r;
    }
    r = ic_lookup(request->server->ic, place->dir, place->name, &there, NULL);
    if (r == 0 && there != fid->inode)
        r = -ENOENT;
    ic_inode_unref(there);
    if (r == 0)
        *ret_place = place;
    else
        put_place(place);
    return r;
}

static int rename_to(struct p9_request *request, struct ic_inode *old_dir,
                     const char *old_name, struct ic_inode *new_dir,
                     const char *new_name)
{
    struct p9_server *server = request->server;

    return server->config.profile->rename(server->profile, old_dir, old_name,
                                          new_dir, new_name);
}

int p9_op_rename(struct p9_request *request)
{
    const struct p9_message *m = &request->m;
    struct p9_fid *fid, *dir = NULL;
    struct p9_place *place = NULL;
    char name[NAME_MAX + 1];
    int r = p9_request_fid(request, m->rename.fid, &fid);

    if (r == 0)
        r = find_place(request, fid, &place);
    if (r == 0)
        r = p9_request_new_name(request, m->rename.dfid, &m->rename.name, &dir,
                                name);
    if (r == 0)
        r = rename_to(request, place->dir, place->name, dir->inode, name);
    if (r == 0)
        p9_fid_move(fid, p9_place_new(dir->inode, name));
    p9_request_put(dir);
    put_place(place);
    p9_request_put(fid);
    return r;
}

/* The fid ends even if the removal fails. */
int p9_op_remove(struct p9_request *request)
{
    struct p9_place *place = NULL;
    int r;

    if (!request->held)
        request->held = p9_fids_remove(request->fids, request->m.fid);
    if (!request->held)
        return -EBADF;
    r = find_place(request, request->held, &place);
    if (r == 0)
        r = ic_unlinkat(
            request->server->ic, place->dir, place->name,
            S_ISDIR(ic_inode_type(request->held->inode)) ? AT_REMOVEDIR : 0);
    put_place(place);
    return r;
}

/* ---- by directory and name ----------------------------------------------- */

int p9_op_renameat(struct p9_request *request)
{
    const struct p9_message *m = &request->m;
    struct p9_fid *from, *to;
    char old_name[NAME_MAX + 1], new_name[NAME_MAX + 1];
    int r = p9_request_fid(request, m->renameat.old_fid, &from);

    if (r == 0)
        r = p9_request_name(&m->renameat.old_name, old_name);
    if (r == 0)
        r = p9_request_new_name(request, m->renameat.new_fid,
                                &m->renameat.new_name, &to, new_name);
    if (r == 0) {
        r = rename_to(request, from->inode, old_name, to->inode, new_name);
        p9_request_put(to);
    }
    p9_request_put(from);
    return r;
}

int p9_op_unlinkat(struct p9_request *request)
{
    const struct p9_message *m = &request->m;
    struct p9_fid *dir;
    char name[NAME_MAX + 1];
    int r = p9_request_fid(request, m->unlinkat.fid, &dir);

    if (r == 0)
        r = p9_request_name(&m->unlinkat.name, name);
    if (r == 0 && (m->unlinkat.flags & ~P9_AT_REMOVEDIR))
        r = -EINVAL;
    if (r == 0)
        r = ic_unlinkat(request->server->ic, dir->inode, name,
                        m->unlinkat.flags ? AT_REMOVEDIR : 0);
    p9_request_put(dir);
    return r;
}
