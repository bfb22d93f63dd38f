/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_paths - the paths that differ before and after a step.
 *
 * A step's report says what became of inodes; a patch goes path by path, and
 * may name a path only once. So each path that the report names, and each in a
 * folder that was renamed, is looked up on both sides of the step: a file is
 * there on one side, or on both. A file that left one path and is at another
 * was renamed, unless something else took its place.
 */
#ifndef INTERCEPTOR_PAST_DIFF_PATHS_H
#define INTERCEPTOR_PAST_DIFF_PATHS_H

#include <glib.h>

#include "interceptor/past/past.h"

enum { DIFF_MAX_PATHS = 50000 };

struct diff_path {
    enum ic_change_type type;
    char *path;
    char *from;     /* IC_RENAMED: the old path; else NULL */
    bool mode_only; /* its content did not change, or it has none */
    bool cut;       /* a renamed folder whose files are not in the list */
};

/* Sort changes (of struct ic_change *) of the past's first step by path: a new
 * array of struct diff_path *, of which each path names one file, and one
 * folder, at most. Folders have entries for their own changes alone. 0 or
 * -errno. */
int diff_paths_find(const struct past *past, const GPtrArray *changes,
                    GPtrArray **ret_paths);

#endif
