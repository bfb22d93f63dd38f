/* SPDX-License-Identifier: Apache-2.0
 *
 * recover - finish what an earlier process left half-way.
 */
#ifndef INTERCEPTOR_ENGINE_RECOVER_H
#define INTERCEPTOR_ENGINE_RECOVER_H

#include "interceptor/engine/core.h"

/* At the start: roll back the step in wal/in_progress, if there is one. If that
 * is impossible, commit it as an unprotected step. */
bool recover_at_start(struct ic *ic, GError **error);

/* For callers that only look: leave it, refuse changes, and report it. False:
 * there is none. */
bool recover_leave_unfinished(struct ic *ic);

#endif
