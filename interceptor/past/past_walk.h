/* SPDX-License-Identifier: Apache-2.0
 *
 * past_walk - take the content of files back, step by step.
 *
 * What a step kept of a file is written over it, and what lay beyond the file's
 * size before that step becomes a hole, as it was when the file grew. Each
 * step's pack is read once, for all files.
 *
 * Threads: as past.h.
 */
#ifndef INTERCEPTOR_PAST_PAST_WALK_H
#define INTERCEPTOR_PAST_PAST_WALK_H

#include "interceptor/past/past.h"

/* A file on its way back; the first member of a caller's structure. */
struct past_target {
    struct past_node node;
    unsigned level; /* index of the oldest step to go back over */
    int64_t size;   /* of the file before that step, in bytes */
};

/* Write these bytes (NULL: a hole) over the target; the range is within its
 * size. 0 or -errno, which ends the walk. */
typedef int past_put(struct past_target *target, const void *data,
                     int64_t offset, int64_t length, void *opaque);

/* Put the target's present content, if it still exists; it is a hole so far. 0
 * or -errno. */
int past_walk_start(struct past_target *target, past_put *put, void *opaque);

/* Take these struct past_target from their present content back to their
 * levels. 0 or -errno; -EBADMSG, -ENOENT: the log's content is damaged or
 * missing. */
int past_walk_back(const struct past *past, GPtrArray *targets, past_put *put,
                   void *opaque);

/* Find the next data of a file in [*offset, end): 1, in *offset and
 * *ret_length; 0: the rest is a hole; or -errno. */
int past_next_data(int fd, off_t *offset, off_t end, off_t *ret_length);

#endif
