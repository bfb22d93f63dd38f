/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_partial - find what the log still has of a step that became unprotected.
 *
 * After a step has crossed its limit, nothing that it does is recorded. So at
 * its end a number in its record may be another inode's, names may have moved,
 * and bytes that were not captured may have changed. Still valid is the record
 * of the tree before the step: the path of an inode, and content that the log
 * has completely. These are files that were fully captured before the limit,
 * and removed files that have not been touched since. Undo, redo and undo by
 * path use none of it.
 */
#ifndef INTERCEPTOR_PAST_DIFF_PARTIAL_H
#define INTERCEPTOR_PAST_DIFF_PARTIAL_H

#include "interceptor/past/past.h"

struct diff_kept {
    char *path;            /* before the step */
    struct past_node node; /* owned; of level 0 */
};

/* Find these files, by path. past: opened with unprotected_too. *ret_kept: a
 * new array of owned struct diff_kept. 0 or -errno; -EBADMSG: the log's content
 * is damaged. */
int diff_partial_find(const struct past *past, GPtrArray **ret_kept);

#endif
