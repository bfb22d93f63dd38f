/* SPDX-License-Identifier: Apache-2.0
 *
 * op_walk - handlers of Twalk and Treadlink.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "common/fd.h"
#include "p9/server/request.h"

/* The current state of a walk. */
struct walk {
    struct ic_inode *inode;
    struct p9_place *place;
    struct stat st;
};

static bool is_up(const struct p9_string *name)
{
    return name->len == 2 && name->at[0] == '.' && name->at[1] == '.';
}

static bool is_here(const struct p9_string *name)
{
    return name->len == 1 && name->at[0] == '.';
}

static int stay(struct p9_request *request, struct walk *walk)
{
    if (!S_ISDIR(ic_inode_type(walk->inode)))
        return -ENOTDIR;
    return p9_request_stat(request, walk->inode, NULL, &walk->st);
}

static bool is_it(const struct stat *st, const struct ic_inode *inode)
{
    return st->st_ino == ic_inode_ino(inode) &&
           st->st_dev == ic_inode_dev(inode);
}

/* Check that dir is the root or below it. A directory may have been moved
 * out. */
static int check_below(struct ic_inode *dir, const struct ic_inode *root)
{
    fd_auto int at = openat(ic_inode_fd(dir), ".",
                            O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st, above;
    int r = at < 0 || fstat(at, &st) < 0 ? -errno : 0;

    while (r == 0 && !is_it(&st, root)) {
        int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

        r = up < 0 || fstat(up, &above) < 0 ? -errno : 0;
        if (r == 0 && above.st_ino == st.st_ino && above.st_dev == st.st_dev)
            r = -ENOENT; /* reached the top */
        fd_close(&at);
        at = up;
        st = above;
    }
    return r;
}

static int find_parent(struct ic *ic, struct ic_inode *dir,
                       const struct ic_inode *root, struct ic_inode **ret_inode)
{
    struct ic_inode *parent = NULL;
    int r;

    if (dir == root) {
        *ret_inode = ic_inode_ref(dir);
        return 0;
    }
    r = ic_lookup_parent(ic, dir, &parent);
    if (r < 0)
        return r;
    r = root == ic_root(ic) ? 0 : check_below(parent, root);
    if (r < 0)
        ic_inode_unref(parent);
    else
        *ret_inode = parent;
    return r;
}

/* Go one level up, but not out of the attached root. */
static int step_up(struct p9_request *request, const struct p9_fid *fid,
                   struct walk *walk)
{
    struct ic_inode *parent = NULL;
    int r;

    if (!S_ISDIR(ic_inode_type(walk->inode)))
        return -ENOTDIR;
    r = find_parent(request->server->ic, walk->inode, fid->root, &parent);
    if (r < 0)
        return r;
    r = p9_request_stat(request, parent, NULL, &walk->st);
    if (r < 0) {
        ic_inode_unref(parent);
        return r;
    }
    ic_inode_unref(walk->inode);
    walk->inode = parent;
    p9_place_unref(g_steal_pointer(&walk->place));
    return 0;
}

static int step_down(struct p9_request *request, const struct p9_string *name,
                     struct walk *walk)
{
    char text[NAME_MAX + 1];
    struct ic_inode *next;
    int r = p9_request_name(name, text);

    if (r == 0)
        r = p9_request_lookup(request, walk->inode, text, &next, &walk->st);
    if (r < 0)
        return r;
    p9_place_unref(walk->place);
    walk->place = p9_place_new(walk->inode, text);
    ic_inode_unref(walk->inode);
    walk->inode = next;
    return 0;
}

/* Walk as many names as exist; fail only if the first does not. */
static int walk_names(struct p9_request *request, const struct p9_fid *fid,
                      struct walk *walk)
{
    const struct p9_message *m = &request->m;
    uint16_t n = 0;
    int r = 0;

    for (; r == 0 && n < m->walk.n; n += r == 0) {
        const struct p9_string *name = &m->walk.names[n];

        r = is_up(name)     ? step_up(request, fid, walk)
            : is_here(name) ? stay(request, walk)
                            : step_down(request, name, walk);
        if (r == 0)
            request->r.rwalk.qids[n] = p9_request_qid(request, &walk->st);
    }
    request->r.rwalk.n = n;
    return n > 0 || m->walk.n == 0 ? 0 : r;
}

/* Add the new fid, if all names were found. */
static int put_fid(struct p9_request *request, struct p9_fid *from,
                   struct walk *walk)
{
    const struct p9_message *m = &request->m;
    struct p9_fid *fid;

    if (request->r.rwalk.n < m->walk.n)
        return 0;
    fid = p9_fid_new(request->fids, g_steal_pointer(&walk->inode),
                     g_steal_pointer(&walk->place), from);
    if (!fid)
        return -ENFILE;
    if (m->walk.n == 0)
        p9_fid_raise_known_size(fid, atomic_load(&from->known_size));
    return m->walk.newfid == m->walk.fid
               ? p9_fids_replace(request->fids, m->walk.fid, from, fid)
               : p9_fids_add(request->fids, m->walk.newfid, fid);
}

int p9_op_walk(struct p9_request *request)
{
    const struct p9_message *m = &request->m;
    struct p9_fid *from;
    struct walk walk;
    int r = p9_request_fid(request, m->walk.fid, &from);

    if (r < 0)
        return r;
    walk = (struct walk){ .inode = ic_inode_ref(from->inode),
                          .place = p9_fid_place(from) };
    if (m->walk.newfid != m->walk.fid &&
        p9_fids_has(request->fids, m->walk.newfid))
        r = -EBADF;
    else
        r = walk_names(request, from, &walk);
    if (r == 0)
        r = put_fid(request, from, &walk);
    ic_inode_unref(walk.inode);
    p9_place_unref(walk.place);
    p9_request_put(from);
    return r;
}

int p9_op_readlink(struct p9_request *request)
{
    struct p9_server *server = request->server;
    struct p9_fid *fid;
    /* The target's place in the reply: after header and length. */
    char *target = (char *)request->out + P9_HEADER_SIZE + 2;
    ssize_t n = 0;
    int r = p9_request_fid(request, request->m.fid, &fid);

    if (r == 0 && !S_ISLNK(p9_request_type(request, fid)))
        r = -EINVAL;
    if (r == 0)
        n = server->config.profile->read_link(server->profile, fid->inode,
                                              target, PATH_MAX);
    if (n < 0)
        r = (int)n;
    p9_request_put(fid);
    request->r.target = (struct p9_string){ target, (uint16_t)MAX(n, 0) };
    return r;
}
