/* SPDX-License-Identifier: Apache-2.0
 *
 * session_guard - decisions of safeguards.
 */
#ifndef AGENT_SESSION_SESSION_GUARD_H
#define AGENT_SESSION_SESSION_GUARD_H

#include "agent/session/session_core.h"

/* The decisions that are pending. */
GPtrArray *session_guard_new_list(void);

/* A daemon's safeguard_id as frontends know it. A new string. */
char *session_guard_make_id(const struct session *session, unsigned index,
                            const char *daemon_id);

/* An event of a folder's daemon; the payload becomes the frontend's. */
void session_guard_take_event(struct session *session, unsigned index,
                              const char *type, json_t *payload);

/* Deny what is pending: all, or of the command that runs. */
void session_guard_deny_all(struct session *session);
void session_guard_deny_command(struct session *session);

#endif
