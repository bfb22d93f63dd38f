/* SPDX-License-Identifier: Apache-2.0
 *
 * op_session - handlers of attach, clunk and statfs.
 */
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "p9/server/request.h"

/* There is no authentication: any client that can connect may do everything
 * that the share's server may. Clients interpret ENOENT so. */
int p9_op_auth(struct p9_request *request)
{
    return -ENOENT;
}

/* Identify the user by number, as 9P2000.L defines; accept a name only if it is
 * a number, too, or root: the server cannot see the host's users. */
static uid_t user_of(const struct p9_server *server, const struct p9_message *m)
{
    const struct p9_string *name = &m->attach.uname;
    uid_t own = id_map_to_guest(server->config.ids.users, geteuid());
    uint64_t uid = 0;

    if (m->attach.uid != P9_NO_UID)
        return m->attach.uid;
    if (name->len == 4 && memcmp(name->at, "root", 4) == 0)
        return 0;
    for (uint16_t i = 0; i < name->len && i < 10; i++) {
        if (name->at[i] < '0' || name->at[i] > '9')
            return own;
        uid = uid * 10 + (uint64_t)(name->at[i] - '0');
    }
    return name->len == 0 || name->len > 10 || uid >= P9_NO_UID ? own
                                                                : (uid_t)uid;
}

/* Find the directory aname below the share, one component at a time. */
static int find_root(struct p9_request *request, const struct p9_string *aname,
                     struct ic_inode **ret_inode)
{
    struct ic_inode *inode = ic_inode_ref(ic_root(request->server->ic));
    const char *at = aname->at, *end = aname->at + aname->len;
    int r = 0;

    while (r == 0 && at < end) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        struct p9_string part = { at, (uint16_t)((slash ? slash : end) - at) };
        struct ic_inode *next = NULL;
        char name[NAME_MAX + 1];
        struct stat st;

        at = slash ? slash + 1 : end;
        if (part.len == 0)
            continue;
        r = p9_request_name(&part, name);
        if (r == 0)
            r = p9_request_lookup(request, inode, name, &next, &st);
        if (r == 0) {
            ic_inode_unref(inode);
            inode = next;
        }
    }
    if (r == 0 && !S_ISDIR(ic_inode_type(inode)))
        r = -ENOTDIR;
    if (r == 0)
        *ret_inode = inode;
    else
        ic_inode_unref(inode);
    return r;
}

int p9_op_attach(struct p9_request *request)
{
    const struct p9_message *m = &request->m;
    struct ic_inode *root = NULL;
    struct p9_fid *fid;
    struct stat st;
    int r;

    if (m->attach.afid != P9_NO_FID)
        return -EBADF;
    r = find_root(request, &m->attach.aname, &root);
    if (r < 0)
        return r;
    r = p9_request_stat(request, root, NULL, &st);
    if (r < 0) {
        ic_inode_unref(root);
        return r;
    }
    request->r.qid = p9_request_qid(request, &st);
    fid = p9_fid_new(request->fids, root, NULL, NULL);
    if (!fid)
        return -ENFILE;
    fid->uid = user_of(request->server, m);
    return p9_fids_add(request->fids, m->attach.fid, fid);
}

/* The fid ends even if this fails; only this request still refers to it. */
int p9_op_clunk(struct p9_request *request)
{
    int r;

    if (!request->held)
        request->held = p9_fids_remove(request->fids, request->m.fid);
    if (!request->held)
        return -EBADF;
    if (request->held->kind != P9_FID_XATTR_WRITE)
        return 0;
    r = ic_inode_use(request->server->ic, request->held->inode);
    if (r < 0)
        return r;
    r = p9_xattr_commit(request, request->held);
    ic_inode_unref(request->held->inode);
    return r;
}

int p9_op_statfs(struct p9_request *request)
{
    struct p9_fid *fid;
    struct statvfs st;
    int r = p9_request_fid(request, request->m.fid, &fid);

    if (r == 0)
        r = ic_statvfs(request->server->ic, fid->inode, &st);
    p9_request_put(fid);
    if (r < 0)
        return r;
    request->r.rstatfs.type = P9_STATFS_TYPE;
    request->r.rstatfs.bsize = (uint32_t)st.f_bsize;
    /* Blocks are in units of f_frsize; the protocol has only one block size. */
    request->r.rstatfs.blocks = st.f_blocks * st.f_frsize / st.f_bsize;
    request->r.rstatfs.bfree = st.f_bfree * st.f_frsize / st.f_bsize;
    request->r.rstatfs.bavail = st.f_bavail * st.f_frsize / st.f_bsize;
    request->r.rstatfs.files = st.f_files;
    request->r.rstatfs.ffree = st.f_ffree;
    request->r.rstatfs.fsid = st.f_fsid;
    request->r.rstatfs.namelen = (uint32_t)st.f_namemax;
    return 0;
}
