/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_partial - what the log still tells of a step that became
 * unprotected.
 *
 * Once a step has crossed its limit, nothing is recorded of what it does. So a
 * number in its record need not be the same inode's when the step ends, names
 * may have moved, and bytes that were not kept before may be others now. What
 * holds is what the record says of the tree before the step: the path of an
 * inode there, and content that the log has whole. That are files of which all
 * was kept before the limit, and removed files that nothing has touched since.
 * Undo, redo and undo by path use none of it.
 */
#ifndef INTERCEPTOR_PAST_DIFF_PARTIAL_H
#define INTERCEPTOR_PAST_DIFF_PARTIAL_H

#include "interceptor/past/past.h"

struct diff_kept {
    char *path;            /* before the step */
    struct past_node node; /* owned; of level 0 */
};

/* Find these files, by path. past: opened with unprotected_too. *ret_kept: a
 * new array of owned struct diff_kept. 0 or -errno; -EBADMSG: what the log kept
 * is damaged. */
int diff_partial_find(const struct past *past, GPtrArray **ret_kept);

#endif
