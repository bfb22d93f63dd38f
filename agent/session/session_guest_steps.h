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

struct guest_steps;

/* The machine's callback; opaque is the session. */
void session_on_step_request(const struct guest_step_request *request,
                             void *opaque);

/* Start what can go on now: of the requests that wait for their turn, those
 * older than the execution with this id. Return whether the turn
 * is taken. */
bool session_guest_steps_next(struct session *session, gint64 before);

/* Keep the report of a completed step for list and diff. */
void session_guest_steps_record(struct session *session,
                                struct step_report *report);

/* The execution ends: refuse its requests. */
void session_guest_steps_end(struct execution *execution);

/* Create session.guest_requests. */
GPtrArray *session_guest_steps_new_list(void);
void session_guest_steps_free(struct guest_steps *steps); /* or NULL */

#endif
