/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_content - see restore_content.h.
 *
 * The pack is read once, in its order. Files are opened at their first range,
 * and the last few stay open, since ranges of several files may alternate.
 */
#include "interceptor/restore/restore_content.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/log/pack.h"
#include "interceptor/restore/restore_base.h"
#include "interceptor/restore/restore_edited.h"
#include "interceptor/restore/restore_preimages.h"
#include "interceptor/restore/restore_state.h"
#include "interceptor/sys/sys.h"

enum { MAX_OPEN = 32, CHUNK = 128 << 10 };

/* A file whose content was kept. */
struct file {
    struct step_inode *inode;
    int fd;         /* -1: not open */
    bool read_only; /* only compare its content: */
    int refused;    /* -errno of opening it for writing */
    bool started;   /* its size is set */
};

/* Return "o<number>". */
static struct step_name orphan_name(int64_t number)
{
    struct step_name name;

    snprintf(name.text, sizeof(name.text), "o%" PRId64, number);
    return name;
}

bool restore_is_orphan(const char *name)
{
    return name[0] == 'o';
}

struct contents {
    struct restore *r;
    GHashTable *files; /* &inode->data_number -> owned file */
    GQueue open;       /* borrowed files, least recently used first */
};

static void file_free(gpointer data)
{
    struct file *file = data;

    fd_close(&file->fd);
    g_free(file);
}

static void contents_init(struct contents *c, struct restore *r)
{
    g_autoptr(GPtrArray) inodes = restore_sorted_inodes(r);

    c->r = r;
    g_queue_init(&c->open);
    c->files = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL,
                                     file_free);
    for (guint i = 0; i < inodes->len; i++) {
        struct step_inode *inode = g_ptr_array_index(inodes, i);
        struct file *file;

        if (!(inode->flags & STEP_DATA))
            continue;
        file = g_new0(struct file, 1);
        file->inode = inode;
        file->fd = -1;
        g_hash_table_insert(c->files, &inode->data_number, file);
    }
}

static void contents_clear(struct contents *c)
{
    g_queue_clear(&c->open);
    g_hash_table_unref(c->files);
}

/* ---- opening ------------------------------------------------------------- */

/* The record does not mean a FIFO or a device: restore must neither write to it
 * nor wait for it. */
static int check_file(int fd)
{
    struct stat st;
    int rc = sys_stat_fd(fd, &st);

    return rc < 0 ? rc : S_ISREG(st.st_mode) ? 0 : -ESTALE;
}

/* A lost file has no place in the tree. */
static int open_orphan(struct contents *c, struct file *file)
{
    file->fd = sys_openat(c->r->blobs,
                          orphan_name(file->inode->data_number).text,
                          O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
    return MIN(file->fd, 0);
}

static int open_file(struct contents *c, struct file *file)
{
    fd_auto int fd = restore_open_inode(c->r, file->inode);
    int rc = fd < 0 ? fd : check_file(fd);

    if (fd == -ESTALE)
        c->r->gone = file->inode;
    if (rc == 0 && !file->started)
        rc = restore_save_edited(c->r, file->inode->ino, fd);
    if (rc < 0)
        return rc;
    file->fd = sys_reopen(fd, O_WRONLY | O_NONBLOCK);
    if (file->fd == -EACCES &&
        sys_chmod_fd(fd, 0600) == 0) /* our file; its
                                      * mode is set later */
        file->fd = sys_reopen(fd, O_WRONLY | O_NONBLOCK);
    file->read_only = file->fd < 0;
    /* The file cannot be opened for writing. The step could not write it
     * either, so an attempt of it was recorded, if the content is unchanged. */
    if (file->read_only) {
        file->refused = rc = file->fd;
        file->fd = sys_reopen(fd, O_RDONLY | O_NONBLOCK);
        if (file->fd < 0)
            return rc;
    }
    return 0;
}

static int set_size(const struct file *file)
{
    struct stat st;
    int rc;

    if (!file->read_only)
        return sys_ftruncate(file->fd, file->inode->data_size);
    rc = sys_stat_fd(file->fd, &st);
    return rc < 0                                 ? rc
           : st.st_size == file->inode->data_size ? 0
                                                  : file->refused;
}

/* Have the file open, with its size before the step. */
static int use_file(struct contents *c, struct file *file)
{
    int rc = 0;

    if (file->fd >= 0) {
        if (g_queue_peek_tail(&c->open) != file) {
            g_queue_remove(&c->open, file);
            g_queue_push_tail(&c->open, file);
        }
        return 0;
    }
    if (g_queue_get_length(&c->open) >= MAX_OPEN)
        fd_close(&((struct file *)g_queue_pop_head(&c->open))->fd);
    rc = file->inode->flags & STEP_LOST ? open_orphan(c, file)
                                        : open_file(c, file);
    if (rc < 0)
        return rc;
    g_queue_push_tail(&c->open, file);
    if (!file->started) {
        rc = set_size(file);
        restore_note_progress(c->r);
    }
    file->started = true;
    return rc;
}

/* ---- ranges -------------------------------------------------------------- */

static int write_zeros(int fd, off_t offset, off_t length)
{
    g_autofree char *zeros = g_malloc0(CHUNK);
    int rc = 0;

    while (rc == 0 && length > 0) {
        size_t part = (size_t)MIN(length, (off_t)CHUNK);

        rc = sys_pwrite_all(fd, zeros, part, offset);
        offset += (off_t)part;
        length -= (off_t)part;
    }
    return rc;
}

/* The file system punches whole blocks only, so a hole at the end of the file
 * must extend beyond it. */
static int punch(const struct file *file, off_t offset, off_t length)
{
    bool at_end = offset + length == file->inode->data_size;
    int rc = sys_fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                           offset, at_end ? length + CHUNK : length);

    return rc == -EOPNOTSUPP ? write_zeros(file->fd, offset, length) : rc;
}

/* Return whether the file has these bytes (NULL: zeros). */
static bool has_bytes(int fd, const char *data, off_t offset, off_t length)
{
    g_autofree char *found = g_malloc(CHUNK);
    g_autofree char *zeros = data ? NULL : g_malloc0(CHUNK);

    while (length > 0) {
        size_t part = (size_t)MIN(length, (off_t)CHUNK);

        if (pread(fd, found, part, offset) != (ssize_t)part ||
            memcmp(found, data ? data : zeros, part) != 0)
            return false;
        offset += (off_t)part;
        length -= (off_t)part;
        if (data)
            data += part;
    }
    return true;
}

static int apply(const struct file *file, const struct pack_entry *entry)
{
    if (file->read_only)
        return has_bytes(file->fd, entry->data, entry->offset, entry->length)
                   ? 0
                   : file->refused;
    if (!entry->data)
        return punch(file, entry->offset, entry->length);
    return sys_pwrite_all(file->fd, entry->data, (size_t)entry->length,
                          entry->offset);
}

static int apply_entry(const struct pack_entry *entry, void *opaque)
{
    struct contents *c = opaque;
    struct file *file = g_hash_table_lookup(c->files, &entry->number);
    int rc;

    if (!file || file->inode->flags & STEP_CLONE ||
        entry->offset + entry->length > file->inode->data_size)
        return 0;
    rc = use_file(c, file);
    if (rc == 0)
        rc = apply(file, entry);
    if (rc < 0)
        restore_note_trouble(c->r, file->inode);
    return rc;
}

/* ---- clones -------------------------------------------------------------- */

/* The fallback where cloning back is not supported. */
static int copy_clone(int clone, const struct file *file)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    off_t offset = 0, size = file->inode->data_size;
    int rc = file->read_only ? 0 : sys_ftruncate(file->fd, 0);

    if (rc == 0 && !file->read_only)
        rc = sys_ftruncate(file->fd, size);
    while (rc == 0 && offset < size) {
        off_t data = lseek(clone, offset, SEEK_DATA);
        struct pack_entry entry = { .data = chunk, .offset = data };
        ssize_t n;

        if (data < 0)
            return errno == ENXIO ? 0 : -errno;
        if (data >= size)
            return 0;
        n = pread(clone, chunk, (size_t)MIN((off_t)CHUNK, size - data), data);
        if (n <= 0)
            return n < 0 ? -errno : 0;
        entry.length = n;
        rc = apply(file, &entry);
        offset = data + n;
    }
    return rc;
}

static int restore_clone(struct contents *c, struct file *file)
{
    fd_auto int clone = restore_open_clone(c->r, file->inode);
    int rc = clone < 0 ? clone : use_file(c, file);

    if (rc < 0)
        return rc;
    /* Truncate first: holes of the clone would not replace the present data. */
    if (!file->read_only) {
        rc = sys_ftruncate(file->fd, 0);
        if (rc == 0)
            rc = sys_clone(clone, file->fd);
        if (rc == 0)
            return sys_ftruncate(file->fd, file->inode->data_size);
    }
    return copy_clone(clone, file);
}

/* Restore files of which the pack has no range: cloned, or only extended. */
static int restore_rest(struct contents *c)
{
    GHashTableIter iter;
    gpointer value;
    int rc = 0;

    g_hash_table_iter_init(&iter, c->files);
    while (rc == 0 && g_hash_table_iter_next(&iter, NULL, &value)) {
        struct file *file = value;

        if (file->inode->flags & STEP_CLONE)
            rc = restore_clone(c, file);
        else if (!file->started && !(file->inode->flags & STEP_LOST))
            rc = use_file(c, file);
        if (rc == 0)
            continue;
        restore_note_trouble(c->r, file->inode);
        if ((rc == -ENOENT || rc == -EBADMSG) && c->r->damaged_too)
            rc = 0; /* restore_check_preimages() has warned */
    }
    return rc;
}

static void note_orphans(struct contents *c)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init(&iter, c->files);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct file *file = value;
        const struct step_inode *inode = file->inode;
        g_autofree char *path = NULL;

        if (!(inode->flags & STEP_LOST) || !file->started)
            continue;
        path = step_path_before(c->r->step, inode, NULL);
        g_ptr_array_add(c->r->orphans,
                        g_strdup_printf("%s (blobs/%s)", path ? path : "?",
                                        orphan_name(inode->data_number).text));
    }
}

int restore_content(struct restore *r)
{
    struct contents c;
    int rc = 0;

    contents_init(&c, r);
    if (g_hash_table_size(c.files) > 0) {
        rc = pack_read(r->blobs, r->step->end != NULL, apply_entry, &c);
        if (rc == -ENOENT || (rc == -EBADMSG && r->damaged_too))
            rc = 0; /* only clones; or what is intact */
        if (rc == 0)
            rc = restore_rest(&c);
        note_orphans(&c);
    }
    contents_clear(&c);
    return rc;
}
