/* SPDX-License-Identifier: Apache-2.0
 *
 * target_dir - the directories below a copy's target.
 *
 * Names are clean (entry_name.h). Paths are resolved by openat2(2) from the
 * target, so that nothing outside of it is reached. New directories wait in a
 * stack for their attributes; the stack is at most as long as a path has
 * components.
 */
#ifndef COPY_TARGET_DIR_H
#define COPY_TARGET_DIR_H

#include <archive_entry.h>
#include <stdbool.h>

#include "copy/copy_error.h"

struct target_dirs {
    int base;           /* borrowed */
    const char *target; /* its path, for messages; borrowed */
    bool trusted;       /* follow symbolic links within the target */

    char *last; /* the directory that last_fd has open; NULL: none */
    int last_fd;
    struct target_pending *pending; /* innermost first */

    /* Set the attributes of a new directory. */
    bool (*finish)(int fd, struct archive_entry *entry, const char *name,
                   void *opaque);
    void *opaque;
};

/* Open a directory; create it and its parents if they are missing. Return an
 * fd, valid until the next call, or -1 with errno. */
int target_dirs_enter(struct target_dirs *dirs, const char *name);

/* Create a directory in parent_fd for this entry (cloned), unless it exists.
 * Return 0 or -errno. */
int target_dirs_make(struct target_dirs *dirs, int parent_fd, const char *leaf,
                     const char *name, struct archive_entry *entry);

/* Finish the directories that do not contain this name; NULL: all. */
bool target_dirs_leave(struct target_dirs *dirs, const char *name,
                       struct copy_error *error);

void target_dirs_clear(struct target_dirs *dirs);

#endif
