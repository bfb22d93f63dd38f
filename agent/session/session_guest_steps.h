/* SPDX-License-Identifier: Apache-2.0
 *
 * session_guest_steps - steps that processes in the guest begin, end, list and
 * undo (shim/wire.h, doc/undo-from-inside.md).
 *
 * The guest may claim any execution that runs. So the limits are the policy
 * guest_undo, the steps that executions made by requests, and the number of
 * requests.
 *
 * An execution has a stack of scopes. Its innermost scope has the open step;
 * when a scope ends, the enclosing one continues with a new step.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_SESSION_GUEST_STEPS_H
#define AGENT_SESSION_SESSION_GUEST_STEPS_H

#include "agent/session/session_execution.h"

/* The machine's callback; opaque is the session. */
void session_on_step_request(const struct guest_step_request *request,
                             void *opaque);

/* For session.guest_hooks. */
extern const struct session_guest_hooks session_guest_steps_hooks;

#endif
