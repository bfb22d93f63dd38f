/* SPDX-License-Identifier: Apache-2.0
 *
 * past_image - keep former content of files in a temporary file.
 *
 * The content is that before the oldest step of a past (past.h).
 *
 * All images share one unnamed file on the log's file system, the spool; each
 * has a region of it. An image is either complete, or has only the ranges that
 * the steps kept: then the file still exists and is to be changed in place, at
 * a cost in proportion to what the steps changed. Holes stay holes.
 *
 * Threads: as past.h.
 */
#ifndef INTERCEPTOR_PAST_IMAGE_H
#define INTERCEPTOR_PAST_IMAGE_H

#include "interceptor/past/past_walk.h"

struct past_spool {
    int fd;
    int64_t end; /* the next region begins here */
};

struct past_range {
    int64_t offset, length; /* bytes, in the file */
};

struct past_image {
    struct past_target target; /* the former file; the node's fd is closed */
    int64_t base;              /* offset of the region in the spool */
    bool whole;
    bool differs;   /* set by past_image_compare() */
    GArray *ranges; /* of struct past_range: what the steps kept */
};

/* Make the spool. 0 or -errno. */
int past_spool_open(const struct past *past, struct past_spool *ret_spool);
void past_spool_clear(struct past_spool *spool);

/* Begin the image of a regular file; a complete one starts with the file's
 * present content. size: from past_stat(). Free with past_image_free(). 0 or
 * -errno; -ESTALE: the content is unknown. */
int past_image_new(const struct past *past, struct past_spool *spool,
                   const struct past_node *node, int64_t size, bool whole,
                   struct past_image **ret_image);
void past_image_free(struct past_image *image);

/* Overlay these struct past_image with what the steps kept. 0 or -errno;
 * -EBADMSG, -ENOENT: the log's content is damaged or missing. */
int past_images_go_back(const struct past *past, struct past_spool *spool,
                        GPtrArray *images);

/* Set image->differs by comparison with the file, open for reading; if the
 * image is not complete, drop the ranges that are equal in the file. 0 or
 * -errno. */
int past_image_compare(const struct past_spool *spool, struct past_image *image,
                       int file);

/* Find the next data of the image in [*offset, end): 1, in *offset and
 * *ret_length; 0: the rest is a hole; or -errno. */
int past_image_next_data(const struct past_spool *spool,
                         const struct past_image *image, int64_t *offset,
                         int64_t end, int64_t *ret_length);

#endif
