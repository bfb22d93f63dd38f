/* SPDX-License-Identifier: Apache-2.0
 *
 * steps_check - whether a step can be opened, closed, or taken back now.
 */
#ifndef INTERCEPTOR_ENGINE_STEPS_CHECK_H
#define INTERCEPTOR_ENGINE_STEPS_CHECK_H

#include "interceptor/engine/core.h"

/* The greatest id ever used. With the gate locked. */
int64_t steps_last_id(struct ic *ic);

/* Is there a log; is step id the open one; is none but an ambient one open; is
 * nothing in wal/in_progress to be finished? FALSE and error if not. With the
 * gate locked. */
gboolean steps_check_open(struct ic *ic, int64_t id, GError **error);
gboolean steps_check_none(struct ic *ic, GError **error);
gboolean steps_check_finished(struct ic *ic, GError **error);

#endif
