/* SPDX-License-Identifier: Apache-2.0
 *
 * past_content - see past_content.h.
 *
 * A file's buffer has the file's size at its level. It is filled with the
 * present content and then taken back step by step (past_walk.h).
 */
#include "interceptor/past/past_content.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/sys/sys.h"

struct past_file *past_file_new(const struct past_node *node, unsigned level)
{
    struct past_file *file = g_new0(struct past_file, 1);

    file->target.node = *node;
    file->target.level = level;
    return file;
}

void past_file_free(struct past_file *file)
{
    past_node_clear(&file->target.node);
    g_free(file->bytes);
    g_free(file);
}

/* ---- size and mode ------------------------------------------------------- */

static int put_target(struct past_target *target, const void *data,
                      int64_t offset, int64_t length, void *opaque)
{
    char *bytes = ((struct past_file *)target)->bytes + offset;

    if (data)
        memcpy(bytes, data, (size_t)length);
    else
        memset(bytes, 0, (size_t)length);
    return 0;
}

/* Find the size at a level: that before the first step that changed the
 * content. */
static int64_t find_size(const struct past *past, const struct past_node *node,
                         unsigned level, int64_t now)
{
    for (unsigned i = level; i < past->steps->len; i++) {
        const struct step_inode *record = past_content_record(past, node, i);

        if (record)
            return record->data_size;
    }
    return now;
}

/* Find the mode at a level: that before the first step that changed the
 * metadata. */
static mode_t find_mode(const struct past *past, const struct past_node *node,
                        unsigned level, mode_t now)
{
    for (unsigned i = level; i < past->steps->len; i++) {
        const struct step_inode *record = past_record(past, node, i);

        if (record && record->meta)
            return record->meta->mode;
    }
    return now;
}

int past_stat(const struct past *past, const struct past_node *node,
              unsigned level, mode_t *ret_mode, int64_t *ret_size)
{
    struct stat now = { 0 };
    int rc = node->fd < 0 ? 0 : sys_stat_fd(node->fd, &now);

    *ret_mode = find_mode(past, node, level, now.st_mode);
    *ret_size = find_size(past, node, level, now.st_size);
    return rc;
}

static int start_symlink(struct past_file *file)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(file->target.node.fd, "", target, sizeof(target));

    if (n < 0)
        return -errno;
    file->bytes = g_memdup2(target, (gsize)n);
    file->len = (size_t)n;
    return 0;
}

static int start_regular(struct past_file *file, int64_t size, size_t most)
{
    if (size < 0 || (uint64_t)size > most) {
        file->left_out = true;
        return 0;
    }
    file->len = (size_t)size;
    file->bytes = g_malloc0(file->len + 1);
    file->target.size = size;
    return past_walk_start(&file->target, put_target, NULL);
}

/* Read a symlink that no longer exists from its record. */
static int start_gone_symlink(struct past_file *file)
{
    const struct meta *meta = file->target.node.gone->meta;

    if (meta && meta->target) {
        file->bytes = g_strdup(meta->target);
        file->len = strlen(file->bytes);
    }
    return 0;
}

static int start_any(const struct past *past, struct past_file *file,
                     size_t most)
{
    int64_t size;
    int rc = past_stat(past, &file->target.node, file->target.level,
                       &file->mode, &size);

    if (rc < 0)
        return rc;
    if (S_ISLNK(file->mode))
        return file->target.node.fd < 0 ? start_gone_symlink(file)
                                        : start_symlink(file);
    return S_ISREG(file->mode) ? start_regular(file, size, most) : 0;
}

/* If the mode of the file or of a directory denies access, only this file's
 * content is missing, not that of the others. */
static int start(const struct past *past, struct past_file *file, size_t most)
{
    int rc = start_any(past, file, most);

    if (rc != -EACCES && rc != -EPERM)
        return rc;
    g_clear_pointer(&file->bytes, g_free);
    file->len = 0;
    file->left_out = true;
    return 0;
}

int past_content_read(const struct past *past, GPtrArray *files,
                      size_t max_file, size_t max_total)
{
    g_autoptr(GPtrArray) targets = g_ptr_array_new();
    size_t room = max_total;
    int rc = 0;

    for (guint i = 0; rc == 0 && i < files->len; i++) {
        struct past_file *file = g_ptr_array_index(files, i);

        rc = start(past, file, MIN(max_file, room));
        room -= file->bytes ? file->len : 0;
        if (file->bytes && S_ISREG(file->mode))
            g_ptr_array_add(targets, file);
    }
    return rc < 0 ? rc : past_walk_back(past, targets, put_target, NULL);
}
