/* SPDX-License-Identifier: Apache-2.0
 *
 * redo_target - the inverse of a rollback (redo.h), while it is made and kept.
 */
#ifndef INTERCEPTOR_ENGINE_REDO_TARGET_H
#define INTERCEPTOR_ENGINE_REDO_TARGET_H

#include "interceptor/engine/core.h"
#include "interceptor/restore/restore.h"

/* wal/inverse, while it is in use. */
struct redo_target {
    int dir, blobs; /* -1: there is none */
    int64_t seq;    /* the inverse's */
};

#define REDO_TARGET_NONE ((struct redo_target){ .dir = -1, .blobs = -1 })

/* The inverse that an interrupted rollback of step id (0: of any) has left, if
 * it is complete; else what there is of it is dropped, and the target is none.
 * -errno: it cannot be told now; the target is none, and nothing is dropped. */
int redo_find(struct ic *ic, int64_t id, struct redo_target *ret_target);

/* After restore_check(): make the inverse of the step, whose blobs/ is given.
 * max_bytes: of content that is to be copied; 0: no limit. 0 or -errno. */
int redo_make(struct ic *ic, struct step *step, int blobs,
              const struct restore *restore, int64_t max_bytes,
              struct redo_target *ret_target);

/* What the rollback puts aside goes there, if it can. */
void redo_set_keep(struct restore *restore, const struct redo_target *target);

/* It is not to be had after all. */
void redo_drop(struct ic *ic, struct redo_target *target);

/* The rollback of a committed step is done: redo/ gets its inverse, with what
 * the rollback left noted. If there is none, or inodes that others took away
 * had to be made anew, by whose old numbers all in redo/ would look for them,
 * redo/ is dropped. precious: the inverse may have the only copy of something,
 * and stays, whatever happens. */
void redo_keep(struct ic *ic, struct redo_target *target,
               const struct restore *restore, bool precious);

/* Note what the tree is now, where the inverse will change it. Without that an
 * edit from outside may go unseen, so there is no redo then. What an earlier
 * try has left after the first end record is cut off. 0 or -errno;
 * -ENOTRECOVERABLE: the inverse cannot be used any more. */
int redo_add_post_state(struct ic *ic, const struct redo_target *target);

void redo_close(struct redo_target *target);

/* A client is about to change something. 0 or -errno. */
int redo_drop_all(struct ic *ic);

/* For the log's links: the blobs/ of all inverses. */
void redo_each(struct ic *ic, void (*each)(struct ic *ic, int folder));

#endif
