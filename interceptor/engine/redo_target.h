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
    int dir, blobs; /* -1: none */
    int64_t seq;    /* of the inverse */
};

#define REDO_TARGET_NONE ((struct redo_target){ .dir = -1, .blobs = -1 })

/* Find the complete inverse that an interrupted rollback of step id (0: of any)
 * has left; drop an incomplete one, and return none. -errno: unknown for now;
 * the target is none, and nothing is dropped. */
int redo_find(struct ic *ic, int64_t id, struct redo_target *ret_target);

/* After restore_check(): make the inverse of the step, whose blobs/ is given.
 * max_bytes: of content to copy; 0: no limit. Returns 0 or -errno. */
int redo_make(struct ic *ic, struct step *step, int blobs,
              const struct restore *restore, int64_t max_bytes,
              struct redo_target *ret_target);

/* Let the rollback put aside inodes in the inverse, if it can. */
void redo_set_keep(struct restore *restore, const struct redo_target *target);

/* Drop it: it cannot be used after all. */
void redo_drop(struct ic *ic, struct redo_target *target);

/* The rollback of a committed step is done: move its inverse to redo/, with the
 * state that the rollback left. If there is none, or if inodes that another
 * process removed had to be recreated, so that the older inverses would look
 * for their former numbers, drop all of redo/. precious: the inverse may have
 * the only copy of something, and stays in any case. */
void redo_keep(struct ic *ic, struct redo_target *target,
               const struct restore *restore, bool precious);

/* Record the current tree where the inverse will change it. Without that an
 * outside edit might go unnoticed, so there is no redo. Data from an earlier
 * try after the first end record is cut off. Returns 0 or -errno;
 * -ENOTRECOVERABLE: the inverse is no longer usable. */
int redo_add_post_state(struct ic *ic, const struct redo_target *target);

void redo_close(struct redo_target *target);

/* A client is about to change something. Returns 0 or -errno. */
int redo_drop_all(struct ic *ic);

/* Call each for the folders of all inverses, to count the log's links. */
void redo_each(struct ic *ic, void (*each)(struct ic *ic, int folder));

#endif
