/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_apply_inode - see paths_apply_inode.h.
 */
#include "interceptor/paths/paths_apply_inode.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/engine/engine.h"
#include "interceptor/sys/rights.h"
#include "interceptor/sys/sys.h"

enum { CHUNK = 1 << 20 };

/* ---- content ------------------------------------------------------------- */

static int write_part(struct applier *a, struct ic_inode *file, int fd,
                      const void *data, int64_t length, int64_t offset)
{
    int64_t done = 0;

    while (done < length) {
        struct iovec iov = { (char *)data + done, (size_t)(length - done) };
        ssize_t n = ic_pwritev(a->ic, file, fd, &iov, 1, offset + done, 0,
                               false);

        if (n <= 0)
            return n < 0 ? (int)n : -EIO;
        done += n;
    }
    return 0;
}

static int write_zeros(struct applier *a, struct ic_inode *file, int fd,
                       int64_t offset, int64_t length)
{
    g_autofree char *zeros = g_malloc0(CHUNK);
    int rc = 0;

    while (rc == 0 && length > 0) {
        int64_t part = MIN(length, CHUNK);

        rc = write_part(a, file, fd, zeros, part, offset);
        offset += part;
        length -= part;
    }
    return rc;
}

static int change_size(struct applier *a, struct ic_inode *file, int fd,
                       int64_t size)
{
    const struct ic_setattr attr = { .valid = IC_SET_SIZE, .size = size };

    return ic_setattr(a->ic, file, fd, &attr, NULL);
}

/* A partial block at the end of the file cannot be punched. */
static int write_last_hole(struct applier *a, const struct past_image *image,
                           struct ic_inode *file, int fd, int64_t offset)
{
    int rc = change_size(a, file, fd, offset);

    return rc < 0 ? rc : change_size(a, file, fd, image->target.size);
}

static int write_hole(struct applier *a, const struct past_image *image,
                      struct ic_inode *file, int fd, int64_t offset,
                      int64_t length)
{
    int rc;

    if (length <= 0)
        return 0;
    if (offset + length == image->target.size)
        return write_last_hole(a, image, file, fd, offset);
    rc = ic_fallocate(a->ic, file, fd,
                      FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                      length);
    return rc == -EOPNOTSUPP ? write_zeros(a, file, fd, offset, length) : rc;
}

static int write_data(struct applier *a, const struct past_image *image,
                      struct ic_inode *file, int fd, int64_t offset,
                      int64_t length)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    int rc = 0;

    while (rc == 0 && length > 0) {
        int64_t part = MIN(length, CHUNK);
        ssize_t n = pread(a->plan->spool.fd, chunk, (size_t)part,
                          image->base + offset);

        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        rc = write_part(a, file, fd, chunk, n, offset);
        offset += n;
        length -= n;
    }
    return rc;
}

/* A new file consists of a hole. */
static int write_range(struct applier *a, const struct past_image *image,
                       struct ic_inode *file, int fd,
                       const struct past_range *range)
{
    int64_t at = range->offset, end = at + range->length;
    int64_t data = at, length;
    int rc;

    while ((rc = past_image_next_data(&a->plan->spool, image, &data, end,
                                      &length)) > 0) {
        rc = image->whole ? 0 : write_hole(a, image, file, fd, at, data - at);
        if (rc == 0)
            rc = write_data(a, image, file, fd, data, length);
        if (rc < 0)
            return rc;
        at = data = data + length;
    }
    return rc < 0 || image->whole
               ? rc
               : write_hole(a, image, file, fd, at, end - at);
}

static int set_size(struct applier *a, struct ic_inode *file, int fd,
                    int64_t size)
{
    struct stat st;
    int rc = ic_stat(a->ic, file, &st);

    return rc < 0 || st.st_size == size ? rc : change_size(a, file, fd, size);
}

int paths_write_image(struct applier *a, const struct past_image *image,
                      struct ic_inode *file, int fd)
{
    const struct past_range all = { 0, image->target.size };
    int rc = set_size(a, file, fd, image->target.size);

    if (image->whole)
        return rc < 0 ? rc : write_range(a, image, file, fd, &all);
    for (guint i = 0; rc == 0 && i < image->ranges->len; i++)
        rc = write_range(a, image, file, fd,
                         &g_array_index(image->ranges, struct past_range, i));
    return rc;
}

/* ---- metadata ------------------------------------------------------------ */

static int set_mode(struct applier *a, struct ic_inode *inode, mode_t mode)
{
    const struct ic_setattr attr = { .valid = IC_SET_MODE,
                                     .mode = mode & 07777 };

    return ic_setattr(a->ic, inode, -1, &attr, NULL);
}

/* Read attributes that the owner may read only under another mode. */
static int read_meta(struct applier *a, struct ic_inode *inode,
                     struct meta **ret_meta)
{
    int rc = meta_read(ic_inode_fd(inode), ret_meta);
    mode_t before;
    bool done;

    if (rc != -EACCES)
        return rc;
    rc = paths_loosen(a, inode, &before, &done);
    return rc < 0 ? rc : meta_read(ic_inode_fd(inode), ret_meta);
}

static int set_owner(struct applier *a, struct ic_inode *inode,
                     const struct meta *then, const struct meta *now)
{
    struct ic_setattr attr = { .uid = then->uid, .gid = then->gid };

    if (rights_differ(then->uid, now->uid))
        attr.valid |= IC_SET_UID;
    if (rights_differ(then->gid, now->gid))
        attr.valid |= IC_SET_GID;
    return attr.valid ? ic_setattr(a->ic, inode, -1, &attr, NULL) : 0;
}

/* Like a rollback, tolerate an attribute that needs a right which the process
 * lacks. */
static int check_xattr(struct applier *a, const struct paths_node *node,
                       const char *name, int rc)
{
    g_autofree char *path = NULL, *shown = NULL;

    if (rc != -EPERM || !(g_str_has_prefix(name, "trusted.") ||
                          g_str_has_prefix(name, "security.")))
        return rc;
    path = paths_node_path(node);
    shown = g_utf8_make_valid(path, -1);
    g_ptr_array_add(a->warnings,
                    g_strdup_printf("%s: cannot restore the extended attribute "
                                    "%s without CAP_SYS_ADMIN",
                                    shown, name));
    return 0;
}

static int remove_xattrs(struct applier *a, const struct paths_node *node,
                         struct ic_inode *inode, const struct meta *now)
{
    GHashTableIter iter;
    gpointer name;
    int rc = 0;

    if (!now->xattrs)
        return 0;
    g_hash_table_iter_init(&iter, now->xattrs);
    while (rc == 0 && g_hash_table_iter_next(&iter, &name, NULL)) {
        if (node->then->xattrs &&
            g_hash_table_contains(node->then->xattrs, name))
            continue;
        rc = ic_removexattr(a->ic, inode, name);
        rc = rc == -ENODATA ? 0 : check_xattr(a, node, name, rc);
    }
    return rc;
}

static int set_xattrs(struct applier *a, const struct paths_node *node,
                      struct ic_inode *inode, const struct meta *now)
{
    GHashTableIter iter;
    gpointer name, value;
    int rc = 0;

    if (!node->then->xattrs)
        return 0;
    g_hash_table_iter_init(&iter, node->then->xattrs);
    while (rc == 0 && g_hash_table_iter_next(&iter, &name, &value)) {
        GBytes *old = now->xattrs ? g_hash_table_lookup(now->xattrs, name)
                                  : NULL;
        gsize len;
        const void *data = g_bytes_get_data(value, &len);

        if (old && g_bytes_equal(old, value))
            continue;
        rc = check_xattr(a, node, name,
                         ic_setxattr(a->ic, inode, name, data, len, 0));
    }
    return rc;
}

static int set_last(struct applier *a, const struct meta *then,
                    struct ic_inode *inode)
{
    struct ic_setattr attr = { .valid = IC_SET_MTIME, .mtime = then->mtime };
    struct stat st;
    int rc = ic_stat(a->ic, inode, &st);

    if (rc == 0 && !S_ISLNK(then->mode) && st.st_mode != then->mode)
        rc = set_mode(a, inode, then->mode);
    if (rc < 0 || (st.st_mtim.tv_sec == then->mtime.tv_sec &&
                   st.st_mtim.tv_nsec == then->mtime.tv_nsec))
        return rc;
    return ic_setattr(a->ic, inode, -1, &attr, NULL);
}

/* In the order of meta_apply(): one setting must not undo another. */
int paths_set_meta(struct applier *a, const struct paths_node *node,
                   struct ic_inode *inode)
{
    const struct meta *then = node->then;
    g_autoptr(meta_auto) now = NULL;
    int rc = read_meta(a, inode, &now);

    if (rc == 0)
        rc = set_owner(a, inode, then, now);
    if (rc == 0) {
        g_clear_pointer(&now, meta_free);
        rc = read_meta(a, inode, &now);
    }
    if (rc == 0)
        rc = remove_xattrs(a, node, inode, now);
    if (rc == 0)
        rc = set_xattrs(a, node, inode, now);
    return rc < 0 ? rc : set_last(a, then, inode);
}

int paths_loosen(struct applier *a, struct ic_inode *inode, mode_t *ret_before,
                 bool *ret_done)
{
    mode_t wanted = S_ISDIR(ic_inode_type(inode)) ? 0700 : 0600;
    struct stat st;
    int rc = ic_stat(a->ic, inode, &st);

    *ret_done = false;
    if (rc < 0 || rights_override_mode() || (st.st_mode & wanted) == wanted)
        return rc;
    rc = set_mode(a, inode, st.st_mode | wanted);
    *ret_before = st.st_mode;
    *ret_done = rc == 0;
    return rc;
}
