/* SPDX-License-Identifier: Apache-2.0
 *
 * outside - what edits from outside mean for a rollback.
 *
 * Two things tell of them: barriers, which the watcher has noted when they
 * were made, and verify.h, which finds them by comparing. What either finds
 * stops the rollback, or with force (or the policy "warn") is a warning. A
 * barrier does so if it overlaps with a step that goes (overlap.h); if not, the
 * result has a warning, and the barrier stays for older steps.
 *
 * All with the gate write-locked.
 */
#ifndef INTERCEPTOR_ENGINE_OUTSIDE_H
#define INTERCEPTOR_ENGINE_OUTSIDE_H

#include "interceptor/engine/core.h"

struct ic_rollback_result *outside_result_new(void);

/* So many of the log's newest steps are about to be taken back, or, if redo is
 * set, of those that were taken back. Copies of the barriers in the way of any
 * of them go to the result; of others a warning tells. */
gboolean outside_check_barriers(struct ic *ic, bool redo, unsigned steps,
                                bool force, struct ic_rollback_result *result,
                                GError **error);

/* The same of these struct ic_barrier, which were found to be in the way. */
gboolean outside_check_found(struct ic *ic, const GPtrArray *found, bool force,
                             struct ic_rollback_result *result, GError **error);

/* A step, whose folder is dir, was taken back in spite of them. 0 or -errno. */
int outside_cross_barriers(struct ic *ic, const struct step *step, int dir);

/* The same of one step's traces, before anything is changed. *ret_edited: there
 * are such edits, or that cannot be told. */
gboolean outside_check_step(struct ic *ic, struct step *step, bool force,
                            struct ic_rollback_result *result, bool *ret_edited,
                            GError **error);

/* One more of the result's warnings, and a line of the log. text is taken. */
void outside_warn(struct ic_rollback_result *result, char *text);

/* These paths (restore_lost.h) were left as they are. */
void outside_warn_lost(struct ic_rollback_result *result, int64_t id,
                       GPtrArray *paths);

#endif
