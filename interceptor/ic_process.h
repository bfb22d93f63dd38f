/* SPDX-License-Identifier: Apache-2.0
 *
 * ic_process - for the file servers of this project, which are built with the
 * library. Not installed.
 */
#ifndef INTERCEPTOR_IC_PROCESS_H
#define INTERCEPTOR_IC_PROCESS_H

#include <stdbool.h>

struct process_state;

/* Let the library use the caller's state (common/process_state.h; borrowed for
 * the life of the process) instead of its own. Call it first, before any thread
 * starts. False: the library is of another build of this project. */
bool ic_share_process_state(struct process_state *state);

#endif
