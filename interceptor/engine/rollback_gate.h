/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback_gate - what rollback, redo and preview share.
 */
#ifndef INTERCEPTOR_ENGINE_ROLLBACK_GATE_H
#define INTERCEPTOR_ENGINE_ROLLBACK_GATE_H

#include "interceptor/engine/core.h"

/* The gate, write-locked, for as long as it takes: changes that come are
 * parked. */
void rollback_lock_gate(struct ic *ic);
void rollback_unlock_gate(struct ic *ic);

/* Who is told that a later step (id; 0: not known) failed must know that
 * earlier ones did not: those of the result are done ("undone"). */
void rollback_tell_part(const struct ic_rollback_result *result, unsigned steps,
                        const char *done, int64_t id, GError **error);

/* The error's code for a step's record that cannot be read: -errno. It is
 * damaged (ERROR_PREIMAGE_CORRUPT), and to be passed by, or cannot be read now
 * (ERROR_IO_ERROR). */
int rollback_record_code(int rc);

#endif
