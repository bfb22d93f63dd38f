/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback_keep - preserve other processes' work during a rollback.
 *
 * A forced rollback, and one without a user's consent (an aborted or
 * interrupted step), puts aside or overwrites files that other processes have
 * put in the place of the step's. These go to the redo, if there will be one;
 * else to the step's own blobs/, and the step's folder to damaged/.
 */
#ifndef INTERCEPTOR_ENGINE_ROLLBACK_KEEP_H
#define INTERCEPTOR_ENGINE_ROLLBACK_KEEP_H

#include "interceptor/engine/redo_target.h"
#include "interceptor/engine/rollback_extent.h"
#include "interceptor/restore/restore.h"

struct rollback_keep {
    bool precious; /* inodes put aside may be another process's */
    bool marked;   /* an earlier try knew of such edits */
    int keep;      /* the blobs/ for it if no caller forced it; -1: none */
};

/* Before restore_run(): tell the restore what to keep. flags: RESTORE_*,
 * ROLLBACK_*; blobs: of the step (borrowed). Returns 0 or -errno. */
int rollback_keep_prepare(struct ic *ic, const struct step *step, int dir,
                          unsigned flags, struct restore *restore,
                          const struct redo_target *target, int blobs,
                          struct rollback_keep *keep);

/* The inverse lacks what other processes have changed since it was made: let
 * the restore copy that. dir: the step's folder. Returns 0 or -errno. */
int rollback_keep_later(struct ic *ic, const struct step *step, int dir,
                        struct restore *restore, bool marked);

/* Return whether the redo's folder holds something that must be kept although
 * there can be no redo: it goes to damaged/ with the step's. */
bool rollback_keeps_redo(const struct rollback_keep *keep, unsigned flags,
                         const struct restore *restore,
                         const struct redo_target *target);

/* Return whether only the log has something that another process wrote, or an
 * inode that was not restored, because lines of the record are missing or its
 * folder is lost (restore_lost.h). Returns true if that cannot be examined. */
bool rollback_has_rest(int blobs);

/* Put the step's folder aside: removing it would destroy the only copy of
 * something. restore: NULL if an earlier process restored it; result (may be
 * NULL): for warnings. Returns 0 or -errno. */
int rollback_keep_rest(struct ic *ic, struct step *step,
                       const struct restore *restore,
                       struct ic_rollback_result *result);

#endif
