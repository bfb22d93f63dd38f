/* SPDX-License-Identifier: Apache-2.0
 *
 * session_guard - pending decisions of safeguards.
 */
#ifndef AGENT_SESSION_SESSION_GUARD_H
#define AGENT_SESSION_SESSION_GUARD_H

#include "agent/session/session_core.h"

/* Create the list of pending decisions. */
GPtrArray *session_guard_new_list(void);

/* Return the frontend's form of a daemon's safeguard_id: a new string. */
char *session_guard_make_id(const struct session *session, unsigned index,
                            const char *daemon_id);

/* Take a daemon's event before it is relayed. If it is about a decision,
 * return the frontend's id of the decision, a new string, to which the event
 * then points; otherwise NULL. */
char *session_guard_take_event(struct session *session, unsigned index,
                               struct session_event *event);

/* Deny the pending decisions: all, or those of the running command. */
void session_guard_deny_all(struct session *session);
void session_guard_deny_command(struct session *session);

#endif
