/* SPDX-License-Identifier: Apache-2.0
 *
 * past_image - see past_image.h.
 *
 * A region goes back step by step, as the buffers of past_content.c do: what a
 * step kept is laid over it, and what lay beyond the size before that step
 * becomes a hole, as it was when the file grew.
 */
#include "interceptor/past/past_image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/log/pack.h"
#include "interceptor/sys/sys.h"

enum {
    CHUNK = 1 << 20,
    ALIGN = 64 << 10, /* of regions: a filesystem's block at least */
};

/* ---- the spool ----------------------------------------------------------- */

#define SPOOL_NAME "spool"

static int make_named(int dir)
{
    int fd = sys_openat(dir, SPOOL_NAME,
                        O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    int rc = fd < 0 ? fd : sys_unlinkat(dir, SPOOL_NAME, 0);

    if (rc < 0)
        fd_close(&fd);
    return rc < 0 ? rc : fd;
}

/* In the folder of the oldest step, which is as good as any other of the log.
 */
int past_spool_open(const struct past *past, struct past_spool *ret_spool)
{
    fd_auto int dir = past_open_blobs(past, 0);
    int fd = dir < 0 ? dir : sys_openat(dir, ".", O_RDWR | O_TMPFILE, 0600);

    if (fd == -EOPNOTSUPP || fd == -EISDIR)
        fd = make_named(dir);
    if (fd < 0)
        return fd;
    *ret_spool = (struct past_spool){ .fd = fd };
    return 0;
}

void past_spool_clear(struct past_spool *spool)
{
    fd_close(&spool->fd);
}

static int add_region(struct past_spool *spool, int64_t size, int64_t *ret_base)
{
    if (size < 0)
        return -EBADMSG;
    if (size > INT64_MAX - ALIGN - spool->end)
        return -EFBIG;
    *ret_base = spool->end;
    spool->end += (size + ALIGN - 1) / ALIGN * ALIGN;
    return sys_ftruncate(spool->fd, spool->end);
}

/* Every offset below is of the file, not of the spool. */
static int put(const struct past_spool *spool, const struct past_image *image,
               const void *data, int64_t offset, int64_t length)
{
    return sys_pwrite_all(spool->fd, data, (size_t)length,
                          image->base + offset);
}

static int put_zeros(const struct past_spool *spool,
                     const struct past_image *image, int64_t offset,
                     int64_t length)
{
    g_autofree char *zeros = g_malloc0(CHUNK);
    int rc = 0;

    while (rc == 0 && length > 0) {
        int64_t part = MIN(length, CHUNK);

        rc = put(spool, image, zeros, offset, part);
        offset += part;
        length -= part;
    }
    return rc;
}

/* To its aligned end, if that is the file's: else its last block would be
 * data. */
static int put_hole(const struct past_spool *spool,
                    const struct past_image *image, int64_t offset,
                    int64_t length)
{
    bool at_end = offset + length == image->size;
    int64_t more = at_end ? (ALIGN - image->size % ALIGN) % ALIGN : 0;
    int rc;

    if (length <= 0)
        return 0;
    rc = sys_fallocate(spool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       image->base + offset, length + more);
    return rc == -EOPNOTSUPP ? put_zeros(spool, image, offset, length) : rc;
}

/* ---- copying ------------------------------------------------------------- */

static int next_data(int fd, off_t *offset, off_t end, off_t *ret_length)
{
    off_t data = *offset < end ? lseek(fd, *offset, SEEK_DATA) : end, hole;

    if (data < 0 && errno != ENXIO)
        return -errno;
    if (data < 0 || data >= end)
        return 0;
    hole = lseek(fd, data, SEEK_HOLE);
    if (hole < 0 && errno != ENXIO)
        return -errno;
    *offset = data;
    *ret_length = (hole < 0 ? end : MIN(hole, end)) - data;
    return 1;
}

int past_image_next_data(const struct past_spool *spool,
                         const struct past_image *image, int64_t *offset,
                         int64_t end, int64_t *ret_length)
{
    off_t at = image->base + *offset, length;
    int rc = next_data(spool->fd, &at, image->base + end, &length);

    if (rc > 0) {
        *offset = at - image->base;
        *ret_length = length;
    }
    return rc;
}

static int copy_extent(const struct past_spool *spool,
                       const struct past_image *image, int file, off_t offset,
                       off_t length)
{
    g_autofree char *chunk = g_malloc(CHUNK);
    int rc = 0;

    while (rc == 0 && length > 0) {
        ssize_t n = pread(file, chunk, (size_t)MIN(length, (off_t)CHUNK),
                          offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0; /* it has become shorter */
        rc = put(spool, image, chunk, offset, n);
        offset += n;
        length -= n;
    }
    return rc;
}

/* What the file has between offset 0 and size; its holes stay holes. */
static int copy_data(const struct past_spool *spool,
                     const struct past_image *image, int file, int64_t size)
{
    off_t offset = 0, length;
    int rc;

    while ((rc = next_data(file, &offset, size, &length)) > 0) {
        rc = copy_extent(spool, image, file, offset, length);
        if (rc < 0)
            return rc;
        offset += length;
    }
    return rc;
}

/* ---- images -------------------------------------------------------------- */

/* Of an inode that is no more, only what was kept of it when it went is known:
 * all of its content, if it had any. */
static bool is_known(const struct past_node *node)
{
    return node->fd >= 0 || (node->gone && node->gone->flags & STEP_RETIRED &&
                             (node->gone->flags & STEP_DATA));
}

static int start_whole(struct past_spool *spool, struct past_image *image,
                       const struct past_node *node)
{
    fd_auto int file = -1;

    if (node->fd < 0)
        return 0;
    file = sys_reopen(node->fd, O_RDONLY | O_NONBLOCK);
    return file < 0 ? file : copy_data(spool, image, file, image->size);
}

int past_image_new(const struct past *past, struct past_spool *spool,
                   const struct past_node *node, int64_t size, bool whole,
                   struct past_image **ret_image)
{
    struct past_image *image;
    int64_t base;
    int rc = is_known(node) ? add_region(spool, size, &base) : -ESTALE;

    if (rc < 0)
        return rc;
    image = g_new0(struct past_image, 1);
    image->node = *node;
    image->node.fd = -1;
    image->base = base;
    image->size = size;
    image->whole = image->differs = whole;
    image->ranges = g_array_new(FALSE, FALSE, sizeof(struct past_range));
    rc = whole ? start_whole(spool, image, node) : 0;
    if (rc < 0)
        past_image_free(image);
    else
        *ret_image = image;
    return rc;
}

void past_image_free(struct past_image *image)
{
    if (!image)
        return;
    g_array_unref(image->ranges);
    g_free(image);
}

/* ---- going back ---------------------------------------------------------- */

static void note_range(struct past_image *image, int64_t offset, int64_t length)
{
    const struct past_range range = { offset, length };

    if (!image->whole && length > 0)
        g_array_append_val(image->ranges, range);
}

/* All of it, data and holes apart. */
static int note_all(const struct past_spool *spool, struct past_image *image)
{
    int64_t at = 0, data = 0, length;
    int rc;

    while ((rc = past_image_next_data(spool, image, &data, image->size,
                                      &length)) > 0) {
        note_range(image, at, data - at);
        note_range(image, data, length);
        at = data = data + length;
    }
    if (rc == 0)
        note_range(image, at, image->size - at);
    return rc;
}

/* The images that need a step's pack, and where they are. */
struct layer {
    const struct past_spool *spool;
    GHashTable *wanted; /* data_number -> GPtrArray of borrowed past_image */
};

static void want(GHashTable *wanted, const struct step_inode *record,
                 struct past_image *image)
{
    GPtrArray *images = g_hash_table_lookup(wanted, &record->data_number);

    if (!images) {
        images = g_ptr_array_new();
        g_hash_table_insert(wanted, (gpointer)&record->data_number, images);
    }
    g_ptr_array_add(images, image);
}

/* Beyond the size before a step there was nothing. */
static int cut(const struct past_spool *spool, struct past_image *image,
               int64_t size)
{
    if (size < 0)
        return -EBADMSG;
    if (size >= image->size)
        return 0;
    note_range(image, size, image->size - size);
    return put_hole(spool, image, size, image->size - size);
}

static int lay_clone(const struct past_spool *spool, int blobs,
                     const struct step_inode *record, struct past_image *image)
{
    fd_auto int clone = sys_openat(blobs,
                                   step_clone_blob(record->data_number).text,
                                   O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    struct stat st;
    int rc = clone < 0 ? clone : sys_stat_fd(clone, &st);

    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = -EBADMSG;
    if (rc == 0)
        rc = put_hole(spool, image, 0, image->size);
    if (rc == 0)
        rc = copy_data(spool, image, clone,
                       MIN(image->size, record->data_size));
    return rc < 0 ? rc : note_all(spool, image);
}

static int lay_entry(const struct pack_entry *entry, void *opaque)
{
    const struct layer *layer = opaque;
    GPtrArray *images = g_hash_table_lookup(layer->wanted, &entry->number);
    int rc = 0;

    for (guint i = 0; rc == 0 && images && i < images->len; i++) {
        struct past_image *image = g_ptr_array_index(images, i);
        int64_t length = MIN(entry->length, image->size - entry->offset);

        if (length <= 0)
            continue;
        note_range(image, entry->offset, length);
        rc = entry->data
                 ? put(layer->spool, image, entry->data, entry->offset, length)
                 : put_hole(layer->spool, image, entry->offset, length);
    }
    return rc;
}

/* Note which images need the step's pack; clones are laid at once. */
static int prepare(const struct past *past, const struct layer *layer,
                   GPtrArray *images, unsigned index, int blobs)
{
    int rc = 0;

    for (guint i = 0; rc == 0 && i < images->len; i++) {
        struct past_image *image = g_ptr_array_index(images, i);
        const struct step_inode *record = past_content_record(
            past, &image->node, index);

        if (!record)
            continue;
        rc = cut(layer->spool, image, record->data_size);
        if (rc == 0 && record->flags & STEP_CLONE)
            rc = lay_clone(layer->spool, blobs, record, image);
        else if (rc == 0)
            want(layer->wanted, record, image);
    }
    return rc;
}

static void free_list(gpointer list)
{
    g_ptr_array_unref(list);
}

static int go_back(const struct past *past, const struct past_spool *spool,
                   GPtrArray *images, unsigned index)
{
    g_autoptr(GHashTable) wanted = g_hash_table_new_full(
        g_int64_hash, g_int64_equal, NULL, free_list);
    const struct step *step = g_ptr_array_index(past->steps, index);
    struct layer layer = { spool, wanted };
    fd_auto int blobs = past_open_blobs(past, index);
    int rc = blobs < 0 ? blobs : prepare(past, &layer, images, index, blobs);

    if (rc < 0 || g_hash_table_size(wanted) == 0)
        return rc;
    return pack_read(blobs, step->end != NULL, lay_entry, &layer);
}

int past_images_go_back(const struct past *past, const struct past_spool *spool,
                        GPtrArray *images)
{
    int rc = 0;

    for (unsigned i = past->steps->len; rc == 0 && images->len > 0 && i > 0;
         i--)
        rc = go_back(past, spool, images, i - 1);
    return rc;
}

/* ---- comparing ----------------------------------------------------------- */

/* Read len bytes; those beyond the end are zeros. */
static int read_part(int fd, char *bytes, size_t len, off_t offset)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = pread(fd, bytes + done, len - done, offset + (off_t)done);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    memset(bytes + done, 0, len - done);
    return 0;
}

/* Is the range a hole of the image, and not of the file? 1, 0 or -errno. */
static int is_filled(const struct past_spool *spool,
                     const struct past_image *image, int file,
                     const struct past_range *range)
{
    int64_t offset = range->offset, end = offset + range->length, length;
    off_t at = offset, found;
    int rc = past_image_next_data(spool, image, &offset, end, &length);

    if (rc != 0)
        return MIN(rc, 0);
    return next_data(file, &at, end, &found);
}

/* 1: the same bytes; 0; or -errno. */
static int is_same(const struct past_spool *spool,
                   const struct past_image *image, int file,
                   const struct past_range *range, char *a, char *b)
{
    int64_t offset = range->offset, end = offset + range->length;
    int rc = 0;

    while (rc == 0 && offset < end) {
        size_t part = (size_t)MIN(end - offset, CHUNK);

        rc = read_part(spool->fd, a, part, image->base + offset);
        if (rc == 0)
            rc = read_part(file, b, part, offset);
        if (rc == 0 && memcmp(a, b, part) != 0)
            return 0;
        offset += (int64_t)part;
    }
    if (rc == 0)
        rc = is_filled(spool, image, file, range);
    return rc < 0 ? rc : !rc;
}

int past_image_compare(const struct past_spool *spool, struct past_image *image,
                       int file)
{
    g_autofree char *a = g_malloc(CHUNK), *b = g_malloc(CHUNK);
    struct stat st;
    guint kept = 0;
    int rc = sys_stat_fd(file, &st);

    if (image->whole) {
        const struct past_range all = { 0, image->size };

        if (rc == 0 && st.st_size == image->size)
            rc = is_same(spool, image, file, &all, a, b);
        image->differs = rc == 0;
        return MIN(rc, 0);
    }
    for (guint i = 0; rc >= 0 && i < image->ranges->len; i++) {
        struct past_range *range = &g_array_index(image->ranges,
                                                  struct past_range, i);

        rc = is_same(spool, image, file, range, a, b);
        if (rc == 0)
            g_array_index(image->ranges, struct past_range, kept++) = *range;
    }
    if (rc < 0)
        return rc;
    g_array_set_size(image->ranges, kept);
    image->differs = kept > 0 || st.st_size != image->size;
    return 0;
}
