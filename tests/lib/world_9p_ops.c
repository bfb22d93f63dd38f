/* SPDX-License-Identifier: Apache-2.0
 *
 * world_9p_ops - see world_9p.h: operations as requests.
 */
#include "tests/lib/world_9p.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#define EXCHANGE_NAME ".world-9p-exchange"

static struct world_9p *of(struct world *w)
{
    return w->state;
}

int world_9p_walk(struct world *w, const char *path, uint32_t *ret_fid)
{
    return p9_walk(of(w)->client, of(w)->cwd, path, ret_fid);
}

/* Walk to the directory of a path; *ret_name, in path, is the name in it. */
static int walk_parent(struct world *w, const char *path, uint32_t *ret_fid,
                       const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    g_autofree char *dir = slash ? g_strndup(path, (gsize)(slash - path))
                                 : g_strdup("");

    *ret_name = slash ? slash + 1 : path;
    return world_9p_walk(w, dir, ret_fid);
}

int world_9p_clunk(struct world *w, uint32_t fid, int r)
{
    int rc = p9_clunk(of(w)->client, fid);

    return r < 0 ? r : rc;
}

static uint32_t wire_flags(int flags)
{
    return (uint32_t)(flags & O_ACCMODE) |
           (flags & O_EXCL ? P9_OPEN_EXCL : 0u) |
           (flags & O_TRUNC ? P9_OPEN_TRUNC : 0u) |
           (flags & O_APPEND ? P9_OPEN_APPEND : 0u) |
           (flags & O_DIRECTORY ? P9_OPEN_DIRECTORY : 0u);
}

/* ---- files --------------------------------------------------------------- */

static int create(struct world *w, const char *path, int flags,
                  uint32_t *ret_fid)
{
    const char *name;
    uint32_t fid;
    int r = walk_parent(w, path, &fid, &name);

    if (r < 0)
        return r;
    r = p9_lcreate(of(w)->client, fid, name, wire_flags(flags), 0644);
    if (r < 0)
        return world_9p_clunk(w, fid, r);
    *ret_fid = fid;
    return 0;
}

int world_9p_open_path(struct world *w, const char *path, int flags,
                       uint32_t *ret_fid)
{
    uint32_t fid;
    int r;

    if (flags & O_CREAT && flags & O_EXCL)
        return create(w, path, flags, ret_fid);
    r = world_9p_walk(w, path, &fid);
    if (r == -ENOENT && (flags & O_CREAT))
        return create(w, path, flags, ret_fid);
    if (r < 0)
        return r;
    r = p9_lopen(of(w)->client, fid, wire_flags(flags & ~O_EXCL));
    if (r < 0)
        return world_9p_clunk(w, fid, r);
    *ret_fid = fid;
    return 0;
}

int world_9p_write_fid(struct world *w, uint32_t fid, const void *data,
                       size_t len, off_t offset)
{
    ssize_t n = p9_write(of(w)->client, fid, data, len, (uint64_t)offset);

    return n < 0 ? (int)n : n == (ssize_t)len ? 0 : -EIO;
}

int world_9p_put(struct world *w, const char *path, int flags, const void *data,
                 size_t len, off_t offset)
{
    uint32_t fid;
    int r = world_9p_open_path(w, path, flags | O_RDWR, &fid);

    if (r == 0 && len > 0)
        r = world_9p_write_fid(w, fid, data, len, offset);
    else if (r < 0)
        return r;
    return world_9p_clunk(w, fid, r);
}

/* A handle is a fid + 1: NULL is an error. */
uint32_t world_9p_to_fid(void *handle)
{
    return GPOINTER_TO_UINT(handle) - 1;
}

void *world_9p_open(struct world *w, const char *path, int flags)
{
    uint32_t fid;
    int r = world_9p_open_path(w, path, flags, &fid);

    errno = -r;
    return r < 0 ? NULL : GUINT_TO_POINTER(fid + 1);
}

void *world_9p_tmpfile(struct world *w, const char *dir, int flags)
{
    errno = EOPNOTSUPP;
    return NULL;
}

int world_9p_write(struct world *w, void *handle, const void *data, size_t len,
                   off_t offset)
{
    ssize_t n = p9_write(of(w)->client, world_9p_to_fid(handle), data, len,
                         (uint64_t)offset);

    return n < 0 ? (int)n : 0;
}

void world_9p_close(struct world *w, void *handle)
{
    world_9p_clunk(w, world_9p_to_fid(handle), 0);
}

int world_9p_handle_stat(struct world *w, void *handle, struct stat *ret_stat)
{
    return p9_stat(of(w)->client, world_9p_to_fid(handle), ret_stat);
}

int world_9p_handle_link(struct world *w, void *handle, const char *path)
{
    const char *name;
    uint32_t dir;
    int r = walk_parent(w, path, &dir, &name);

    if (r < 0)
        return r;
    r = p9_link(of(w)->client, dir, world_9p_to_fid(handle), name);
    return world_9p_clunk(w, dir, r);
}

/* Attach again as that user. */
int world_9p_write_as(struct world *w, const char *path, uid_t uid,
                      const void *data, size_t len, off_t offset)
{
    struct p9_client *client = of(w)->client;
    uint32_t root = p9_client_new_fid(client), fid;
    int r = p9_attach(client, root, "", uid);

    if (r < 0)
        return r;
    r = p9_walk(client, root, path, &fid);
    if (r == 0) {
        r = p9_lopen(client, fid, O_WRONLY);
        if (r == 0)
            r = world_9p_write_fid(w, fid, data, len, offset);
        p9_clunk(client, fid);
    }
    return world_9p_clunk(w, root, r);
}

int world_9p_mmap_write(struct world *w, const char *path, const void *data,
                        size_t len, off_t offset)
{
    return -EOPNOTSUPP; /* the client's kernel implements mappings */
}

/* ---- names --------------------------------------------------------------- */

int world_9p_mkdir(struct world *w, const char *path, mode_t mode)
{
    const char *name;
    uint32_t dir;
    int r = walk_parent(w, path, &dir, &name);

    if (r < 0)
        return r;
    /* Apply the umask as the client's kernel does. */
    return world_9p_clunk(w, dir,
                          p9_mkdir(of(w)->client, dir, name, mode & ~022u));
}

int world_9p_mknod(struct world *w, const char *path, mode_t mode, dev_t dev)
{
    const char *name;
    uint32_t dir;
    int r = walk_parent(w, path, &dir, &name);

    if (r < 0)
        return r;
    return world_9p_clunk(
        w, dir, p9_mknod(of(w)->client, dir, name, mode & ~022u, dev));
}

int world_9p_symlink(struct world *w, const char *target, const char *path)
{
    const char *name;
    uint32_t dir;
    int r = walk_parent(w, path, &dir, &name);

    if (r < 0)
        return r;
    return world_9p_clunk(w, dir, p9_symlink(of(w)->client, dir, name, target));
}

int world_9p_link(struct world *w, const char *from, const char *path)
{
    const char *name;
    uint32_t dir, fid;
    int r = world_9p_walk(w, from, &fid);

    if (r < 0)
        return r;
    r = walk_parent(w, path, &dir, &name);
    if (r == 0)
        r = world_9p_clunk(w, dir, p9_link(of(w)->client, dir, fid, name));
    return world_9p_clunk(w, fid, r);
}

static int unlink_at(struct world *w, const char *path, uint32_t flags)
{
    const char *name;
    uint32_t dir;
    int r = walk_parent(w, path, &dir, &name);

    if (r < 0)
        return r;
    return world_9p_clunk(w, dir, p9_unlinkat(of(w)->client, dir, name, flags));
}

int world_9p_unlink(struct world *w, const char *path)
{
    return unlink_at(w, path, 0);
}

int world_9p_rmdir(struct world *w, const char *path)
{
    return unlink_at(w, path, P9_AT_REMOVEDIR);
}

static int rename_plain(struct world *w, const char *from, const char *to)
{
    const char *old_name, *new_name;
    uint32_t old_dir, new_dir;
    int r = walk_parent(w, from, &old_dir, &old_name);

    if (r < 0)
        return r;
    r = walk_parent(w, to, &new_dir, &new_name);
    if (r == 0)
        r = world_9p_clunk(
            w, new_dir,
            p9_renameat(of(w)->client, old_dir, old_name, new_dir, new_name));
    return world_9p_clunk(w, old_dir, r);
}

/* If the second rename fails (a directory into itself), the third undoes the
 * first. */
static int exchange(struct world *w, const char *a, const char *b)
{
    struct stat st;
    int r = world_9p_stat(w, b, &st);

    if (r == 0)
        r = rename_plain(w, a, EXCHANGE_NAME);
    if (r < 0)
        return r;
    r = rename_plain(w, b, a);
    if (r == 0)
        r = rename_plain(w, EXCHANGE_NAME, b);
    if (r < 0)
        rename_plain(w, EXCHANGE_NAME, a);
    return r;
}

/* Return whether one of the two contains the other. */
static bool are_nested(const char *a, const char *b)
{
    size_t len = MIN(strlen(a), strlen(b));

    return strncmp(a, b, len) == 0 &&
           (a[len] == '/' || b[len] == '/' || a[len] == b[len]);
}

int world_9p_rename(struct world *w, const char *from, const char *to,
                    unsigned flags)
{
    struct stat st;

    if (flags & RENAME_EXCHANGE)
        return are_nested(from, to) ? -EINVAL : exchange(w, from, to);
    if (flags & RENAME_NOREPLACE && world_9p_stat(w, to, &st) == 0)
        return -EEXIST;
    return rename_plain(w, from, to);
}

int world_9p_chdir(struct world *w, const char *name)
{
    struct world_9p *p = of(w);
    uint32_t fid = P9_ROOT;
    struct stat st;
    int r = name ? world_9p_walk(w, name, &fid) : 0;

    if (r == 0)
        r = p9_stat(p->client, fid, &st);
    if (r == 0 && !S_ISDIR(st.st_mode))
        r = -ENOTDIR;
    if (r < 0)
        return r;
    if (p->cwd != P9_ROOT)
        p9_clunk(p->client, p->cwd);
    p->cwd = fid;
    return 0;
}
