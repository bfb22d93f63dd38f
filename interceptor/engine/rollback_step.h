/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback_step - roll back the one step in wal/in_progress.
 */
#ifndef INTERCEPTOR_ENGINE_ROLLBACK_STEP_H
#define INTERCEPTOR_ENGINE_ROLLBACK_STEP_H

#include "interceptor/engine/core.h"

/* Read a step's record from its folder. damaged_too: also if it has bad lines;
 * their content is then not restored. */
gboolean rollback_load_step(struct ic *ic, int dir, bool damaged_too,
                            struct step **ret_step, GError **error);

/* Load the step to look at it: it may be unprotected. */
gboolean rollback_read_step(struct ic *ic, int dir, struct step **ret_step,
                            GError **error);

/* Roll back the step in wal/in_progress, whose folder is dir, and remove it.
 * ret_info (may be NULL): what the step had done. result (may be NULL): for
 * warnings. flags: RESTORE_* and ROLLBACK_CROSS. */
gboolean rollback_undo_step(struct ic *ic, int dir, struct step *step,
                            unsigned flags, struct ic_rollback_result *result,
                            struct ic_step_info **ret_info, GError **error);

/* Set the error to ERROR_STEP_UNPROTECTED for this step. */
void rollback_set_unprotected(int64_t id, GError **error);

/* With the gate write-locked: roll back the step in wal/in_progress and remove
 * it, in spite of any outside edits. ret_info (may be NULL): what the step had
 * done. Content missing from a damaged record, and inodes that other processes
 * have removed, are not restored. ERROR_STEP_UNPROTECTED, ERROR_PREIMAGE_*:
 * nothing was changed. */
gboolean rollback_undo_wal(struct ic *ic, struct ic_step_info **ret_info,
                           GError **error);

#endif
