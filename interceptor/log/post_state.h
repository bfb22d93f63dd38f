/* SPDX-License-Identifier: Apache-2.0
 *
 * post_state - the tree as a step left it, where it touched it.
 *
 * When a step is committed, what a survey found is written into its manifest
 * (post_survey.h), a line a name, a directory before what is in it:
 *     {"t":"p","i":2,"o":16877,"a":N,"u":0,"g":0}   line 0: the share's root
 *     {"t":"p","d":0,"n":"a","i":12,"o":33188,"a":N,"u":0,"g":0,"s":5,"m":T,
 *         "c":U}
 * with "l":2 at the end if the file has so many names in all.
 * d: line of the directory; i: inode number; o: mode; a: meta_digest(), and u,
 * g: owner and group (rights.h), of inodes whose metadata the step recorded; s:
 * size; m, c: mtime and ctime. The last three are not noted of directories:
 * their times change with every entry in them, and the entries that matter have
 * lines of their own.
 *
 * A name at which there was something that another process had made has a line
 * with "i":0 and "o":0. A name that the step removed has no line, nor has what
 * is inside a directory that it only moved. So the lines are as many as what is
 * there of the change. The end record's "post" is their number; without it they
 * do not count.
 */
#ifndef INTERCEPTOR_LOG_POST_STATE_H
#define INTERCEPTOR_LOG_POST_STATE_H

#include <glib.h>
#include <stdbool.h>

#include "interceptor/log/step.h"

struct post_state {
    const struct post_state *dir; /* NULL: the root */
    char *name;
    mode_t mode;
    bool has_digest;
    uint32_t digest, uid, gid;
    int64_t size, mtime;
    int64_t links;          /* 0: one, or it is a directory */
    struct own_state state; /* changed is 0 of directories */
    bool found;             /* for who compares */
    bool closed;            /* the same: what is in there cannot be told */
};

/* Add a record to step->post; false if it makes no sense. */
bool post_state_load(struct step *step, json_t *record);

/* Has the step all of them? */
bool post_state_is_complete(const struct step *step);

/* Mark the bindings at whose names an undo has nothing to remove: the step made
 * the name and removed it again, so what is there now was made by another
 * process; or what the step left there is lost, and what took its place may be
 * all that there is of it. Only if the post state is complete; again whenever
 * an inode was found to be lost. */
void post_state_mark_vacant(struct step *step);

/* Where the inode was when the step ended, if it had just one name; else, or if
 * the post state does not tell, NULL. */
const struct post_state *post_state_only_name(const struct step *step,
                                              const struct step_inode *inode);

/* A table that finds things by directory and name: of survey entries or of
 * post states, each by its own dir. Keys are on the caller's
 * stack or borrowed from the heap. */
struct post_spot {
    gconstpointer dir;
    const char *name;
};
guint post_spot_hash(gconstpointer spot);
gboolean post_spot_equal(gconstpointer a, gconstpointer b);

#endif
