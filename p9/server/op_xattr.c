/* SPDX-License-Identifier: Apache-2.0
 *
 * op_xattr - handlers of the messages on extended attributes.
 *
 * Txattrwalk makes a fid from which the value, or the list of names, is read;
 * Txattrcreate makes one that collects the written value, and its Tclunk sets
 * the attribute. The profile determines which attributes exist.
 */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

#include "p9/server/request.h"

/* Return the name as a string: 0, -EINVAL or -ERANGE. */
static int attribute_name(const struct p9_string *name,
                          char ret_name[XATTR_NAME_MAX + 1])
{
    if (memchr(name->at, '\0', name->len))
        return -EINVAL;
    if (name->len > XATTR_NAME_MAX)
        return -ERANGE;
    memcpy(ret_name, name->at, name->len);
    ret_name[name->len] = '\0';
    return 0;
}

/* ---- reading ------------------------------------------------------------- */

static int fill_value(struct p9_server *server, struct p9_fid *fid,
                      const char *name)
{
    g_autofree char *value = g_malloc(P9_MAX_XATTR);
    ssize_t n = server->config.profile->read_xattr(server->profile, fid->inode,
                                                   name, value, P9_MAX_XATTR);
    int r = n < 0 ? (int)n : p9_fid_reserve(fid, (size_t)n);

    if (r < 0)
        return r;
    memcpy(fid->value, value, (size_t)n);
    fid->kind = P9_FID_XATTR_READ;
    return 0;
}

static int walk_to(struct p9_request *request, struct p9_fid *from,
                   const char *name)
{
    const struct p9_message *m = &request->m;
    struct p9_fid *fid = p9_fid_new(request->fids, ic_inode_ref(from->inode),
                                    p9_fid_place(from), from);
    int r = fid ? fill_value(request->server, fid, name) : -ENFILE;

    if (r < 0) {
        p9_fid_unref(fid);
        return r;
    }
    request->r.size = fid->size;
    return m->xattrwalk.newfid == m->xattrwalk.fid
               ? p9_fids_replace(request->fids, m->xattrwalk.fid, from, fid)
               : p9_fids_add(request->fids, m->xattrwalk.newfid, fid);
}

int p9_op_xattrwalk(struct p9_request *request)
{
    const struct p9_message *m = &request->m;
    struct p9_fid *from;
    char name[XATTR_NAME_MAX + 1];
    int r = p9_request_fid(request, m->xattrwalk.fid, &from);

    if (r == 0)
        r = attribute_name(&m->xattrwalk.name, name);
    if (r == 0)
        r = walk_to(request, from, name);
    p9_request_put(from);
    return r;
}

int p9_xattr_read(struct p9_request *request, struct p9_fid *fid)
{
    uint64_t offset = MIN(request->m.read.offset, fid->size);
    size_t count = MIN(p9_request_reply_size(request), fid->size - offset);

    memcpy(request->out + P9_DATA_AT, fid->value + offset, count);
    request->r.data = (struct p9_data){ request->out + P9_DATA_AT,
                                        (uint32_t)count };
    return 0;
}

/* ---- setting ------------------------------------------------------------- */

static int create_at(struct p9_request *request, struct p9_fid *from,
                     const char *name)
{
    const struct p9_message *m = &request->m;
    struct p9_fid *fid = p9_fid_new(request->fids, ic_inode_ref(from->inode),
                                    p9_fid_place(from), from);
    int r = fid ? p9_fid_reserve(fid, m->xattrcreate.size) : -ENFILE;

    if (r < 0) {
        p9_fid_unref(fid);
        return r;
    }
    fid->kind = P9_FID_XATTR_WRITE;
    fid->xattr = g_strdup(name);
    fid->xattr_flags = m->xattrcreate.flags;
    return p9_fids_replace(request->fids, m->xattrcreate.fid, from, fid);
}

int p9_op_xattrcreate(struct p9_request *request)
{
    const struct p9_message *m = &request->m;
    struct p9_fid *from;
    char name[XATTR_NAME_MAX + 1];
    int r = p9_request_fid(request, m->xattrcreate.fid, &from);

    if (r == 0)
        r = attribute_name(&m->xattrcreate.name, name);
    if (r == 0 && from->kind != P9_FID_PATH)
        r = -EBADF;
    if (r == 0 &&
        (m->xattrcreate.flags & ~(P9_XATTR_CREATE | P9_XATTR_REPLACE)))
        r = -EINVAL;
    if (r == 0 && request->server->config.read_only)
        r = -EROFS;
    if (r == 0 && m->xattrcreate.size > P9_MAX_XATTR)
        r = -E2BIG;
    if (r == 0)
        r = create_at(request, from, name);
    p9_request_put(from);
    return r;
}

int p9_xattr_write(struct p9_request *request, struct p9_fid *fid)
{
    const struct p9_data *data = &request->m.write.data;
    uint64_t offset = request->m.write.offset;

    if (offset > fid->size || data->count > fid->size - offset)
        return -ENOSPC;
    pthread_mutex_lock(&fid->lock);
    memcpy(fid->value + offset, data->at, data->count);
    if (offset <= fid->filled)
        fid->filled = MAX(fid->filled, offset + data->count);
    pthread_mutex_unlock(&fid->lock);
    request->r.count = data->count;
    return 0;
}

/* Set or remove the attribute. Replacing with an empty value removes it; an
 * empty attribute is created without that flag. */
int p9_xattr_commit(struct p9_request *request, struct p9_fid *fid)
{
    struct p9_server *server = request->server;
    const struct p9_profile *profile = server->config.profile;
    int flags = 0;

    if (fid->filled < fid->size)
        return -EINVAL;
    if (fid->size == 0 && fid->xattr_flags == P9_XATTR_REPLACE)
        return profile->write_xattr(server->profile, fid->inode, fid->xattr,
                                    NULL, 0, 0);
    if (fid->xattr_flags & P9_XATTR_CREATE)
        flags |= XATTR_CREATE;
    if (fid->xattr_flags & P9_XATTR_REPLACE)
        flags |= XATTR_REPLACE;
    return profile->write_xattr(server->profile, fid->inode, fid->xattr,
                                fid->value, fid->size, flags);
}
