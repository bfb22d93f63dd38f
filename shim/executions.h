/* SPDX-License-Identifier: Apache-2.0
 *
 * executions - all running executions.
 */
#ifndef SHIM_EXECUTIONS_H
#define SHIM_EXECUTIONS_H

#include "shim/execution.h"

struct executions {
    struct execution slots[WIRE_MAX_EXECUTIONS];
    size_t first; /* the slot whose output comes first in the next round */
    struct execution_context context;
};

/* Maximum number of poll entries of executions_poll(). */
#define EXECUTIONS_FDS (WIRE_MAX_EXECUTIONS * EXECUTION_FDS)

/* Return a free slot that was not used for this id; NULL if all are in use. */
struct execution *executions_free_slot(struct executions *executions);

/* Return the running execution with this id, or NULL. */
struct execution *executions_find(struct executions *executions, int64_t id);

/* Return true if the last execution in a slot had this id, and has ended. */
bool executions_has_ended(const struct executions *executions, int64_t id);

/* Return the execution of a living process or thread; 0: none that is known.
 * With cgroups, also one that has ended. */
int64_t executions_find_process(const struct executions *executions, pid_t pid);

/* Return true if any execution runs. */
bool executions_run(const struct executions *executions);

/* As for a single execution (execution.h). */
void executions_note_exit(struct executions *executions, pid_t pid, int status);
size_t executions_poll(const struct executions *executions, struct pollfd *fds);
int64_t executions_deadline_ms(const struct executions *executions);

/* Advance all executions while there is output and room for it: one chunk each
 * in turn, so that none starves another. Call after every event. */
void executions_advance(struct executions *executions, int64_t now_ms);

/* The shim is about to end: kill all processes, without a long wait. */
void executions_end_now(struct executions *executions);

#endif
