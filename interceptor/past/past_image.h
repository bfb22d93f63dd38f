/* SPDX-License-Identifier: Apache-2.0
 *
 * past_image - the content that files of any size had before the oldest step
 * of a past (past.h), in a temporary file.
 *
 * All images share one unnamed file on the log's filesystem, the spool: each
 * has a region of it. An image is either whole, or has only the ranges that the
 * steps have kept, for a file that still exists and is to be changed in place:
 * then its cost is in proportion to what the steps changed. Holes stay holes.
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
    struct past_target target; /* the file then; the node's fd is closed */
    int64_t base;              /* where the region begins in the spool */
    bool whole;
    bool differs;   /* set by past_image_compare() */
    GArray *ranges; /* of struct past_range: what the steps have kept */
};

/* Make the spool. 0 or -errno. */
int past_spool_open(const struct past *past, struct past_spool *ret_spool);
void past_spool_clear(struct past_spool *spool);

/* Begin the image of a regular file: if it is to be whole, with what the file
 * has now. size: what past_stat() says. Free with past_image_free(). 0 or
 * -errno; -ESTALE: the content is not known. */
int past_image_new(const struct past *past, struct past_spool *spool,
                   const struct past_node *node, int64_t size, bool whole,
                   struct past_image **ret_image);
void past_image_free(struct past_image *image);

/* Lay what the steps have kept over these struct past_image. 0 or -errno;
 * -EBADMSG, -ENOENT: what the log kept is damaged, or missing. */
int past_images_go_back(const struct past *past, struct past_spool *spool,
                        GPtrArray *images);

/* Set image->differs from the file, which is open for reading; of one that is
 * not whole drop the ranges in which the file has the same bytes. 0 or -errno.
 */
int past_image_compare(const struct past_spool *spool, struct past_image *image,
                       int file);

/* Find the next data of the image in [*offset, end): 1, and *offset and
 * *ret_length tell which; 0: the rest is a hole; or -errno. */
int past_image_next_data(const struct past_spool *spool,
                         const struct past_image *image, int64_t *offset,
                         int64_t end, int64_t *ret_length);

#endif
