/* SPDX-License-Identifier: Apache-2.0
 *
 * steps_check - check whether a step can be opened, closed or undone now.
 */
#ifndef INTERCEPTOR_ENGINE_STEPS_CHECK_H
#define INTERCEPTOR_ENGINE_STEPS_CHECK_H

#include "interceptor/engine/core.h"

/* Return the greatest id ever used. With the gate locked. */
int64_t steps_last_id(struct ic *ic);

/* Check that there is a log and step id is the open one; that no step but an
 * ambient one is open; that nothing in wal/in_progress must be finished. FALSE
 * and error if not. With the gate locked. */
gboolean steps_check_open(struct ic *ic, int64_t id, GError **error);
gboolean steps_check_none(struct ic *ic, GError **error);
gboolean steps_check_finished(struct ic *ic, GError **error);

#endif
