/* SPDX-License-Identifier: Apache-2.0
 *
 * watch_dirs - the directories that are watched, and their paths.
 *
 * Events name directories by file handles, which say nothing of where they
 * are. So each directory is known by its handle, with its parent and its name
 * there, and follows the renames that are told. One that has left the share
 * (into the undo log, say) is kept, since it may come back.
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
    struct watch_dir *parent; /* a reference; NULL: the root */
    char *name;
    bool gone;           /* not in the share; so is all that is below it */
    bool removed;        /* out of the table */
    bool queued;         /* for the scan */
    bool missed;         /* see watch_retry() */
    unsigned generation; /* of the scan that has read it, or will */
};

/* A new table: GBytes -> reference to watch_dir. */
GHashTable *watch_dirs_new(void);

void watch_dir_unref(struct watch_dir *dir);

/* The directory with this key is parent/name: add it or move it. parent NULL:
 * the root. Borrowed. *ret_new: it was not known. */
struct watch_dir *watch_dirs_put(GHashTable *dirs, GBytes *key,
                                 struct watch_dir *parent, const char *name,
                                 bool *ret_new);

/* It is deleted. */
void watch_dirs_remove(GHashTable *dirs, struct watch_dir *dir);

/* The path of name in dir, or of dir itself if name is NULL or ".". A new
 * string, "." for the root; NULL if it is not in the share, or too long. */
char *watch_dir_path(const struct watch_dir *dir, const char *name);

#endif
