/* SPDX-License-Identifier: Apache-2.0
 *
 * ambient_rest - an ambient step that was committed and may go on.
 */
#ifndef INTERCEPTOR_ENGINE_AMBIENT_REST_H
#define INTERCEPTOR_ENGINE_AMBIENT_REST_H

#include "interceptor/engine/core.h"

bool ambient_is_open(const struct ic *ic);

/* The open step was committed with this report: clear it, or keep what it knew
 * to go on with. size: its journal's before the commit. With the gate
 * write-locked. */
void ambient_put_down(struct ic *ic, const struct ic_step_info *info,
                      int64_t size);

/* What was kept to go on with is not needed: the pack is compressed then. With
 * the gate write-locked, or locked and names held. */
void ambient_forget(struct ic *ic);

#endif
