/* SPDX-License-Identifier: Apache-2.0
 *
 * recover - what an earlier process left half-way.
 */
#ifndef INTERCEPTOR_ENGINE_RECOVER_H
#define INTERCEPTOR_ENGINE_RECOVER_H

#include "interceptor/engine/core.h"

/* At the start: take back the step in wal/in_progress, if there is one. One
 * that cannot be taken back is committed as an unprotected step. */
bool recover_at_start(struct ic *ic, GError **error);

/* The same for those who only look: leave it, break the engine, and tell of it.
 * False: there is none. */
bool recover_leave_unfinished(struct ic *ic);

#endif
