/* SPDX-License-Identifier: Apache-2.0
 *
 * outside - what edits from outside mean for a rollback.
 *
 * Two things tell of them: barriers, which the watcher has noted when they
 * were made, and verify.h, which finds them by comparing. What either finds
 * stops the rollback, or with force (or the policy "warn") is a warning.
 *
 * All with the gate write-locked.
 */
#ifndef INTERCEPTOR_OUTSIDE_H
#define INTERCEPTOR_OUTSIDE_H

#include "interceptor/engine.h"

struct ic_rollback_result *outside_result_new(void);

/* The newest steps of the log are about to be taken back, down to the one
 * with this seq. Copies of the barriers in the way go to the result. */
gboolean outside_check_barriers(struct ic *ic, int64_t seq, bool force,
                                struct ic_rollback_result *result,
                                GError **error);

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
