/* SPDX-License-Identifier: Apache-2.0
 *
 * outside - how outside edits affect a rollback.
 *
 * Two sources report them: barriers, which the watcher recorded when the edits
 * were made, and verify.h, which finds them by comparison. Either blocks the
 * rollback, or with force (or the policy "warn") leads to a warning. A barrier
 * counts if it overlaps with a step being rolled back (overlap.h); otherwise
 * the result has a warning, and the barrier stays for older steps.
 *
 * All with the gate write-locked.
 */
#ifndef INTERCEPTOR_ENGINE_OUTSIDE_H
#define INTERCEPTOR_ENGINE_OUTSIDE_H

#include "interceptor/engine/core.h"
#include "interceptor/restore/restore.h"

struct ic_rollback_result *outside_result_new(void);

/* The log's newest steps, this many, are about to be rolled back, or, with
 * redo, redone. Copies of the barriers that block any of them are added to the
 * result; a warning lists the others. */
gboolean outside_check_barriers(struct ic *ic, bool redo, unsigned steps,
                                bool force, struct ic_rollback_result *result,
                                GError **error);

/* The same for these struct ic_barrier, which are known to block. */
gboolean outside_check_found(struct ic *ic, const GPtrArray *found, bool force,
                             struct ic_rollback_result *result, GError **error);

/* A step, whose folder is dir, was rolled back in spite of them. Returns 0 or
 * -errno. */
int outside_cross_barriers(struct ic *ic, const struct step *step, int dir);

/* The same by comparison of one step, before anything is changed. *ret_edited:
 * there are such edits, or that is unknown. */
gboolean outside_check_step(struct ic *ic, struct step *step, bool force,
                            struct ic_rollback_result *result, bool *ret_edited,
                            GError **error);

/* Add a warning to the result, and log it. Takes ownership of text. */
void outside_warn(struct ic_rollback_result *result, char *text);

/* Add what the restore of step id leaves out (restore_lost(),
 * restore_emptied()) to not_restored, with a warning. */
void outside_warn_lost(struct ic_rollback_result *result, int64_t id,
                       const struct restore *restore);

#endif
