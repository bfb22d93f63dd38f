/* SPDX-License-Identifier: Apache-2.0
 *
 * watch_dirs - the watched directories and their paths.
 *
 * Events name directories by file handles, which do not contain a path. So each
 * directory is stored by its handle, with its parent and its name there, and
 * updated by rename events. A directory that has left the share (into the undo
 * log, for example) is kept, since it may return.
 *
 * Threads: the owner's lock.
 */
#ifndef INTERCEPTOR_WATCH_WATCH_DIRS_H
#define INTERCEPTOR_WATCH_WATCH_DIRS_H

#include <glib.h>
#include <stdbool.h>

struct watch_dir {
    unsigned refs;
    GBytes *key;
    struct watch_dir *parent; /* a reference; NULL for the root */
    char *name;
    bool gone;           /* it and everything below it is outside the share */
    bool removed;        /* no longer in the table */
    bool queued;         /* waiting for the scan */
    bool missed;         /* see watch_retry() */
    unsigned generation; /* of the scan that has read it, or will read it */
};

/* Return a new table: GBytes -> reference to watch_dir. */
GHashTable *watch_dirs_new(void);

void watch_dir_unref(struct watch_dir *dir);

/* Add or move the directory with this key to parent/name. parent NULL: the
 * root. Borrowed. *ret_new: it is new. */
struct watch_dir *watch_dirs_put(GHashTable *dirs, GBytes *key,
                                 struct watch_dir *parent, const char *name,
                                 bool *ret_new);

/* The directory was deleted. */
void watch_dirs_remove(GHashTable *dirs, struct watch_dir *dir);

/* Return the path of name in dir, or of dir itself if name is NULL or ".". A
 * new string, "." for the root; NULL if it is outside the share, or too long.
 */
char *watch_dir_path(const struct watch_dir *dir, const char *name);

#endif
