/* SPDX-License-Identifier: Apache-2.0
 *
 * post_state - the tree where a step touched it, as the step left it.
 *
 * At commit the result of a survey is written into the manifest
 * (post_survey.h), one line per name, a directory before its entries:
 *     {"t":"p","i":2,"o":16877,"a":N,"u":0,"g":0}   line 0: the share's root
 *     {"t":"p","d":0,"n":"a","i":12,"o":33188,"a":N,"u":0,"g":0,"s":5,"m":T,
 *         "c":U}
 * and "l":2 at the end if the file has that many names in all. d: line of the
 * directory; i: inode number; o: mode; a: meta_digest(), u, g: owner and group
 * (rights.h), for inodes whose metadata the step recorded; s: size; m, c: mtime
 * and ctime. s, m and c are omitted for directories: the times change with
 * every entry, and the entries that matter have their own lines.
 *
 * A name that held another process's file has a line with "i":0 and "o":0.
 * Names that the step removed, and entries of a directory that it only moved,
 * have no line. So the number of lines is that of the changed entries that
 * exist. The end record's "post" is that number; without it the lines do not
 * count.
 */
#ifndef INTERCEPTOR_LOG_POST_STATE_H
#define INTERCEPTOR_LOG_POST_STATE_H

#include <glib.h>
#include <stdbool.h>

#include "interceptor/log/step.h"

struct post_state {
    const struct post_state *dir; /* NULL for the root */
    char *name;
    mode_t mode;
    bool has_digest;
    uint32_t digest, uid, gid;
    int64_t size, mtime;
    int64_t links;            /* 0: one, or a directory */
    struct ctime_state state; /* ctime 0 for directories */
    bool found;               /* scratch for the comparison */
    bool closed; /* likewise: the directory's content cannot be read */
};

/* Add a record to step->post; false if it is malformed. */
bool post_state_load(struct step *step, json_t *record);

/* Return whether the step has all lines. */
bool post_state_is_complete(const struct step *step);

/* Mark the bindings at whose names undo has nothing to remove: the step made
 * the name and removed it again, so what exists there now belongs to another
 * process; or the inode that the step left there is lost, and its replacement
 * may be the only copy. Does nothing unless the post state is complete; call it
 * again whenever an inode turns out to be lost. */
void post_state_mark_vacant(struct step *step);

/* Return where the inode was when the step ended, if it had exactly one name;
 * NULL if not, or if the post state does not say. */
const struct post_state *post_state_only_name(const struct step *step,
                                              const struct step_inode *inode);

/* Key of a table that finds survey entries or post states by directory and
 * name; dir is a survey entry or a post state. Keys are on the caller's stack
 * or borrowed from the heap. */
struct post_spot {
    gconstpointer dir;
    const char *name;
};
guint post_spot_hash(gconstpointer spot);
gboolean post_spot_equal(gconstpointer a, gconstpointer b);

#endif
