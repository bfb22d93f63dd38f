/* SPDX-License-Identifier: Apache-2.0
 *
 * past_content - read the content that files had before a step (past.h).
 */
#ifndef INTERCEPTOR_PAST_PAST_CONTENT_H
#define INTERCEPTOR_PAST_PAST_CONTENT_H

#include "interceptor/past/past_walk.h"

struct past_file {
    struct past_target target; /* its node is owned */

    /* Set by past_content_read(): */
    mode_t mode; /* 0: unknown */
    char *bytes; /* owned; of a file, or a symlink's target; or NULL */
    size_t len;
    bool left_out; /* too large, or not readable */
};

/* Make a new file for a node (taken). */
struct past_file *past_file_new(const struct past_node *node, unsigned level);
void past_file_free(struct past_file *file);

/* Find the mode and size of a node at this level. 0 or -errno. */
int past_stat(const struct past *past, const struct past_node *node,
              unsigned level, mode_t *ret_mode, int64_t *ret_size);

/* Read these struct past_file, each of at most max_file bytes and together at
 * most max_total; files beyond that, and unreadable ones, are left out. 0 or
 * -errno; -EBADMSG, -ENOENT: the log's content is damaged or missing. */
int past_content_read(const struct past *past, GPtrArray *files,
                      size_t max_file, size_t max_total);

#endif
