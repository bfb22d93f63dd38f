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

/* Return whether the decision with the frontend's id is pending. */
bool session_guard_is_pending(const struct session *session, const char *id);

/* Call for each pending decision: the frontend's id, its folder's index and its
 * step. */
void session_guard_foreach(const struct session *session,
                           void (*call)(const char *id, unsigned index,
                                        gint64 step_id, void *opaque),
                           void *opaque);

/* Take a daemon's event before it is relayed. If it is about a decision,
 * return the frontend's id of the decision, a new string, to which the event
 * then points; otherwise NULL. */
char *session_guard_take_event(struct session *session, unsigned index,
                               struct session_event *event);

/* Deny the pending decisions: all, or those of the running command. */
void session_guard_deny_all(struct session *session);
void session_guard_deny_command(struct session *session);

#endif
