/* SPDX-License-Identifier: Apache-2.0
 *
 * ambient_rest - a committed ambient step that may continue.
 */
#ifndef INTERCEPTOR_ENGINE_AMBIENT_REST_H
#define INTERCEPTOR_ENGINE_AMBIENT_REST_H

#include "interceptor/engine/core.h"

bool ambient_is_open(const struct ic *ic);

/* The open step was committed with this report: clear it, or keep its state to
 * continue it. size: of its journal before the commit. With the gate
 * write-locked. */
void ambient_put_down(struct ic *ic, const struct ic_step_info *info,
                      int64_t size);

/* The kept state is no longer needed: drop it and compress the pack. With the
 * gate write-locked, or locked and names held. */
void ambient_forget(struct ic *ic);

#endif
