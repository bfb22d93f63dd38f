/* SPDX-License-Identifier: Apache-2.0
 *
 * steps - begin and commit steps.
 */
#ifndef INTERCEPTOR_ENGINE_STEPS_H
#define INTERCEPTOR_ENGINE_STEPS_H

#include "interceptor/engine/core.h"

/* With the gate write-locked, or read-locked and names held: begin a step. 0
 * or -errno. */
int steps_begin(struct ic *ic, int64_t id, enum ic_step_type type,
                const char *command);

/* With the gate write-locked: commit the open step. ret_info may be NULL. */
gboolean steps_commit_locked(struct ic *ic, int exit_code,
                             struct ic_step_info **ret_info, GError **error);

#endif
