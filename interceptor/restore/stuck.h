/* SPDX-License-Identifier: Apache-2.0
 *
 * stuck - why a step cannot be taken back now, and what helps.
 *
 * What the engine lets a client do can be undone, but for what others do to the
 * folder meanwhile: fill its disk, mount it read-only, forbid changes of a file
 * (chattr). Such a rollback goes on where it was as soon as that is gone, so
 * its error says what to do.
 */
#ifndef INTERCEPTOR_RESTORE_STUCK_H
#define INTERCEPTOR_RESTORE_STUCK_H

#include "interceptor/log/step.h"

/* The step's rollback in the tree at root ended with rc, -errno: add to the
 * error what is known of the reason. */
void stuck_explain(struct step *step, int root, int rc, GError **error);

#endif
