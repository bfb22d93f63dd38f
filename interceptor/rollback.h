/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback - taking steps back: ic_step_abort(), ic_rollback(), recovery.
 */
#ifndef INTERCEPTOR_ROLLBACK_H
#define INTERCEPTOR_ROLLBACK_H

#include "interceptor/engine.h"

/* At the start: take back what wal/in_progress holds. */
bool rollback_recover(struct ic *ic, GError **error);

#endif
