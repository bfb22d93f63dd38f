/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback_gate - shared by rollback, redo and preview.
 */
#ifndef INTERCEPTOR_ENGINE_ROLLBACK_GATE_H
#define INTERCEPTOR_ENGINE_ROLLBACK_GATE_H

#include "interceptor/engine/core.h"

/* Write-lock the gate for as long as needed: arriving changes are parked. */
void rollback_lock_gate(struct ic *ic);
void rollback_unlock_gate(struct ic *ic);

/* An error of a later step (id; 0: unknown) must say that earlier ones
 * succeeded: those of the result are done ("undone"). */
void rollback_tell_part(const struct ic_rollback_result *result, unsigned steps,
                        const char *done, int64_t id, GError **error);

/* Return the error code for an unreadable step record; rc: -errno. It is
 * damaged (ERROR_PREIMAGE_CORRUPT) and must be skipped, or cannot be read now
 * (ERROR_IO_ERROR). */
int rollback_record_code(int rc);

#endif
