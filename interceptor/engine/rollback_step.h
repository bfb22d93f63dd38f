/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback_step - taking back the one step in wal/in_progress.
 */
#ifndef INTERCEPTOR_ENGINE_ROLLBACK_STEP_H
#define INTERCEPTOR_ENGINE_ROLLBACK_STEP_H

#include "interceptor/engine/core.h"

/* Read a step's record from its folder. damaged_too: also if it has bad lines;
 * what they say is then not restored. */
gboolean rollback_load_step(struct ic *ic, int dir, bool damaged_too,
                            struct step **ret_step, GError **error);

/* Take back the step in wal/in_progress, whose folder is dir, and remove it.
 * ret_info (may be NULL): what the step had done. result (may be NULL): for
 * warnings. flags: RESTORE_* and ROLLBACK_CROSS. */
gboolean rollback_undo_step(struct ic *ic, int dir, struct step *step,
                            unsigned flags, struct ic_rollback_result *result,
                            struct ic_step_info **ret_info, GError **error);

/* Make the error ERROR_STEP_UNPROTECTED, for this step. */
void rollback_set_unprotected(int64_t id, GError **error);

/* With the gate write-locked: take back the step in wal/in_progress and remove
 * it, whatever is in the way. ret_info (may be NULL): what the step had done.
 * What a damaged record does not say and what others have taken away is not
 * restored. ERROR_STEP_UNPROTECTED, ERROR_PREIMAGE_*: nothing was changed. */
gboolean rollback_undo_wal(struct ic *ic, struct ic_step_info **ret_info,
                           GError **error);

#endif
