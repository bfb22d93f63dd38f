/* SPDX-License-Identifier: Apache-2.0
 *
 * past_image - see past_image.h.
 */
#include "interceptor/past/past_image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/sys/sys.h"

enum {
    CHUNK = 1 << 20,
    ALIGN = 64 << 10, /* of regions: at least the file system's block size */
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

/* The oldest step's directory is as good as any other on the log's file system.
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

/* All offsets below are the file's, not the spool's. */
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

/* A hole at the end of the file extends to the aligned end: otherwise the last
 * block would be data. */
static int put_hole(const struct past_spool *spool,
                    const struct past_image *image, int64_t offset,
                    int64_t length)
{
    bool at_end = offset + length == image->target.size;
    int64_t more = at_end ? (ALIGN - image->target.size % ALIGN) % ALIGN : 0;
    int rc = sys_fallocate(spool->fd,
                           FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                           image->base + offset, length + more);

    return rc == -EOPNOTSUPP ? put_zeros(spool, image, offset, length) : rc;
}

int past_image_next_data(const struct past_spool *spool,
                         const struct past_image *image, int64_t *offset,
                         int64_t end, int64_t *ret_length)
{
    off_t at = image->base + *offset, length;
    int rc = past_next_data(spool->fd, &at, image->base + end, &length);

    if (rc > 0) {
        *offset = at - image->base;
        *ret_length = length;
    }
    return rc;
}

/* ---- images -------------------------------------------------------------- */

/* Of an inode that no longer exists only what was kept at its removal is known:
 * all of its content, if it had any. */
static bool is_known(const struct past_node *node)
{
    return node->fd >= 0 || (node->gone && node->gone->flags & STEP_RETIRED &&
                             (node->gone->flags & STEP_DATA));
}

static void note_range(struct past_image *image, int64_t offset, int64_t length)
{
    const struct past_range range = { offset, length };

    if (!image->whole)
        g_array_append_val(image->ranges, range);
}

static int put_target(struct past_target *target, const void *data,
                      int64_t offset, int64_t length, void *opaque)
{
    struct past_image *image = (struct past_image *)target;
    const struct past_spool *spool = opaque;

    note_range(image, offset, length);
    return data ? put(spool, image, data, offset, length)
                : put_hole(spool, image, offset, length);
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
    image->target.node = *node;
    image->target.size = size;
    image->base = base;
    image->whole = image->differs = whole;
    image->ranges = g_array_new(FALSE, FALSE, sizeof(struct past_range));
    rc = whole ? past_walk_start(&image->target, put_target, spool) : 0;
    image->target.node.fd = -1;
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

int past_images_go_back(const struct past *past, struct past_spool *spool,
                        GPtrArray *images)
{
    return past_walk_back(past, images, put_target, spool);
}

/* ---- comparing ----------------------------------------------------------- */

/* Read len bytes; bytes beyond the end are zero. */
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

/* Return whether the range is a hole in the image but not in the file. 1, 0 or
 * -errno. */
static int is_filled(const struct past_spool *spool,
                     const struct past_image *image, int file,
                     const struct past_range *range)
{
    int64_t offset = range->offset, end = offset + range->length, length;
    off_t at = offset, found;
    int rc = past_image_next_data(spool, image, &offset, end, &length);

    if (rc != 0)
        return MIN(rc, 0);
    return past_next_data(file, &at, end, &found);
}

/* Return 1 if the bytes are equal, 0 if not, or -errno. */
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
        const struct past_range all = { 0, image->target.size };

        if (rc == 0 && st.st_size == image->target.size)
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
    image->differs = kept > 0 || st.st_size != image->target.size;
    return 0;
}
