/* SPDX-License-Identifier: Apache-2.0
 *
 * past_content - see past_content.h.
 *
 * A file's buffer has the size that the file had at its level. It is filled
 * with what the file has now, and then goes back step by step: what a step kept
 * is laid over it, and what lay beyond the size before that step is zeros, as
 * it was when the file grew. Each step's pack is read once, for all files.
 */
#include "interceptor/past/past_content.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/log/pack.h"
#include "interceptor/sys/sys.h"

struct past_file *past_file_new(const struct past_node *node, unsigned level)
{
    struct past_file *file = g_new0(struct past_file, 1);

    file->node = *node;
    file->level = level;
    return file;
}

void past_file_free(struct past_file *file)
{
    past_node_clear(&file->node);
    g_free(file->bytes);
    g_free(file);
}

/* ---- what there is ------------------------------------------------------- */

/* Read from the start of a regular file; what it does not have stays. */
static int read_start(int fd, char *bytes, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = pread(fd, bytes + done, len - done, (off_t)done);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int read_now(struct past_file *file)
{
    fd_auto int fd = sys_reopen(file->node.fd, O_RDONLY | O_NONBLOCK);

    return fd < 0 ? fd : read_start(fd, file->bytes, file->len);
}

/* The size at a level: before the first step that changed the content. */
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

/* The mode at a level: before the first step that changed the metadata. */
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
    ssize_t n = readlinkat(file->node.fd, "", target, sizeof(target));

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
    return file->node.fd < 0 ? 0 : read_now(file);
}

/* Of what is no more: only records. */
static int start_gone_symlink(struct past_file *file)
{
    const struct meta *meta = file->node.gone->meta;

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
    int rc = past_stat(past, &file->node, file->level, &file->mode, &size);

    if (rc < 0)
        return rc;
    if (S_ISLNK(file->mode))
        return file->node.fd < 0 ? start_gone_symlink(file)
                                 : start_symlink(file);
    return S_ISREG(file->mode) ? start_regular(file, size, most) : 0;
}

/* A file that its own mode, or a folder's, keeps from us costs its own content,
 * and not that of the others. */
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

/* ---- going back ---------------------------------------------------------- */

/* Files that a step's pack is read for: data_number -> GPtrArray of borrowed
 * past_file. */
static void want(GHashTable *wanted, const struct step_inode *record,
                 struct past_file *file)
{
    GPtrArray *files = g_hash_table_lookup(wanted, &record->data_number);

    if (!files) {
        files = g_ptr_array_new();
        g_hash_table_insert(wanted, (gpointer)&record->data_number, files);
    }
    g_ptr_array_add(files, file);
}

static void set_size(struct past_file *file, int64_t size)
{
    if (size >= 0 && (uint64_t)size < file->len)
        memset(file->bytes + size, 0, file->len - (size_t)size);
}

static int lay_clone(int blobs, const struct step_inode *record,
                     struct past_file *file)
{
    fd_auto int clone = sys_openat(blobs,
                                   step_clone_blob(record->data_number).text,
                                   O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    struct stat st;
    int rc = clone < 0 ? clone : sys_stat_fd(clone, &st);

    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = -EBADMSG;
    if (rc < 0)
        return rc;
    memset(file->bytes, 0, file->len);
    return read_start(clone, file->bytes,
                      (size_t)MIN((int64_t)file->len, record->data_size));
}

static int lay_entry(const struct pack_entry *entry, void *opaque)
{
    GHashTable *wanted = opaque;
    GPtrArray *files = g_hash_table_lookup(wanted, &entry->number);

    for (guint i = 0; files && i < files->len; i++) {
        struct past_file *file = g_ptr_array_index(files, i);
        size_t len;

        if ((uint64_t)entry->offset >= file->len)
            continue;
        len = MIN((size_t)entry->length, file->len - (size_t)entry->offset);
        if (entry->data)
            memcpy(file->bytes + entry->offset, entry->data, len);
        else
            memset(file->bytes + entry->offset, 0, len);
    }
    return 0;
}

/* Note who needs the step's pack; clones are laid at once. */
static int prepare(const struct past *past, GPtrArray *files, unsigned index,
                   int blobs, GHashTable *wanted)
{
    for (guint i = 0; i < files->len; i++) {
        struct past_file *file = g_ptr_array_index(files, i);
        const struct step_inode *record = past_content_record(past, &file->node,
                                                              index);
        int rc = 0;

        if (!record || !file->bytes || !S_ISREG(file->mode) ||
            index < file->level)
            continue;
        set_size(file, record->data_size);
        if (record->flags & STEP_CLONE)
            rc = lay_clone(blobs, record, file);
        else
            want(wanted, record, file);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static void free_list(gpointer list)
{
    g_ptr_array_unref(list);
}

static int go_back(const struct past *past, GPtrArray *files, unsigned index)
{
    g_autoptr(GHashTable) wanted = g_hash_table_new_full(
        g_int64_hash, g_int64_equal, NULL, free_list);
    const struct step *step = g_ptr_array_index(past->steps, index);
    fd_auto int blobs = past_open_blobs(past, index);
    int rc = blobs < 0 ? blobs : prepare(past, files, index, blobs, wanted);

    if (rc < 0 || g_hash_table_size(wanted) == 0)
        return rc;
    return pack_read(blobs, step->end != NULL, lay_entry, wanted);
}

int past_content_read(const struct past *past, GPtrArray *files,
                      size_t max_file, size_t max_total)
{
    size_t room = max_total;
    int rc = 0;

    for (guint i = 0; rc == 0 && i < files->len; i++) {
        struct past_file *file = g_ptr_array_index(files, i);

        rc = start(past, file, MIN(max_file, room));
        room -= file->bytes ? file->len : 0;
    }
    for (unsigned i = past->steps->len; rc == 0 && i > 0; i--)
        rc = go_back(past, files, i - 1);
    return rc;
}
