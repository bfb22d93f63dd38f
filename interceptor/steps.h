/* SPDX-License-Identifier: Apache-2.0
 *
 * steps - opening, committing, taking back.
 */
#ifndef INTERCEPTOR_STEPS_H
#define INTERCEPTOR_STEPS_H

#include "interceptor/engine.h"

/* With the gate write-locked, or read-locked and names held: begin a step. 0
 * or -errno. */
int steps_begin(struct ic *ic, int64_t id, enum ic_step_type type,
                const char *command);

/* Commit the open ambient step if it has been quiet for long enough. */
void steps_close_quiet_ambient(struct ic *ic);

/* The process ends: commit an open ambient step. A step of another kind stays
 * in wal/in_progress: nobody has said that it is complete. */
void steps_close_at_exit(struct ic *ic);

/* At the start: take back what wal/in_progress holds. */
bool steps_recover(struct ic *ic, GError **error);

#endif
