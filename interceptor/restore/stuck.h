/* SPDX-License-Identifier: Apache-2.0
 *
 * stuck - explain why a step cannot be rolled back now, and what helps.
 *
 * Every change that the engine admits can be undone unless another process
 * interferes: fills the disk, mounts it read-only, or makes a file immutable
 * (chattr). The rollback continues as soon as the obstacle is gone, so its
 * error says what to do.
 */
#ifndef INTERCEPTOR_RESTORE_STUCK_H
#define INTERCEPTOR_RESTORE_STUCK_H

#include "interceptor/log/step.h"

/* After a rollback of the step in the tree at root failed with rc (-errno), add
 * the known reason to the error. */
void stuck_explain(struct step *step, int root, int rc, GError **error);

#endif
