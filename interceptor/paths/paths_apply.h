/* SPDX-License-Identifier: Apache-2.0
 *
 * paths_apply - carry out a plan (paths_plan.h) in the open step.
 *
 * Every change is a call of ic_files.h, as a client would make it. So the open
 * step records all of it, and the caller rolls the step back after a failure
 * half-way. It fails if a client has changed a path since the plan was made.
 *
 * Threads: with none of the engine's locks held.
 */
#ifndef INTERCEPTOR_PATHS_APPLY_H
#define INTERCEPTOR_PATHS_APPLY_H

#include "interceptor/paths/paths_node.h"

/* warnings: owned char *; what could not be restored exactly is added. */
gboolean paths_apply(struct ic *ic, const struct paths_plan *plan,
                     GPtrArray *warnings, GError **error);

#endif
