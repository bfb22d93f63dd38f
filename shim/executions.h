/* SPDX-License-Identifier: Apache-2.0
 *
 * executions - all that run at a time.
 */
#ifndef SHIM_EXECUTIONS_H
#define SHIM_EXECUTIONS_H

#include "shim/execution.h"

struct executions {
    struct execution slots[WIRE_MAX_EXECUTIONS];
    size_t first; /* whose output comes first in the next round */
    struct execution_context context;
};

/* Poll entries that executions_poll() may fill in. */
#define EXECUTIONS_FDS (WIRE_MAX_EXECUTIONS * EXECUTION_FDS)

/* A free slot that has not had this id; NULL if all are in use. */
struct execution *executions_free_slot(struct executions *executions);

/* The one that runs under this id; NULL if none does. */
struct execution *executions_find(struct executions *executions, int64_t id);

/* True if the last execution in a slot had this id, and has ended. */
bool executions_has_ended(const struct executions *executions, int64_t id);

/* As for one execution (execution.h). */
void executions_note_exit(struct executions *executions, pid_t pid, int status);
size_t executions_poll(const struct executions *executions, struct pollfd *fds);
int64_t executions_deadline_ms(const struct executions *executions);

/* Advance all, as often as there is output and room for it: a chunk of each in
 * turn, so that none starves another. Call after every event. */
void executions_advance(struct executions *executions, int64_t now_ms);

/* The shim ends: kill what runs, without waiting long for it. */
void executions_end_now(struct executions *executions);

#endif
