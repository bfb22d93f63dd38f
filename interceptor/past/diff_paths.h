/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_paths - find the paths that differ before and after a step.
 *
 * A step's report lists inodes; a patch lists paths, each at most once. So each
 * path in the report, and each path in a renamed directory, is looked up on
 * both sides of the step: it names a file on one side or on both. A file that
 * left one path and has another now was renamed, unless another inode took its
 * place.
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
    bool mode_only; /* its content did not change, or there is none */
    bool cut;       /* a renamed directory whose files are not listed */
};

/* Sort changes (of struct ic_change *) of the past's first step by path: a new
 * array of struct diff_path *, in which each path names at most one file and
 * one directory. Directories have entries only for changes of their own. 0 or
 * -errno. */
int diff_paths_find(const struct past *past, const GPtrArray *changes,
                    GPtrArray **ret_paths);

#endif
