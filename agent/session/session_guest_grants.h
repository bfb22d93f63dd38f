/* SPDX-License-Identifier: Apache-2.0
 *
 * session_guest_grants - processes in the guest ask for access to folders
 * ("step grant").
 *
 * Such a request waits for a user and not for its turn, and holds back no other
 * request about steps.
 */
#ifndef AGENT_SESSION_SESSION_GUEST_GRANTS_H
#define AGENT_SESSION_SESSION_GUEST_GRANTS_H

#include "agent/session/session_core.h"

/* Take a request of type GUEST_STEP_GRANT; it is answered once. */
void session_guest_grants_take(struct session *session,
                               const struct guest_step_request *request);

/* The process that asked is gone. Return whether this was such a request. */
bool session_guest_grants_withdraw(struct session *session, gint64 exec_id,
                                   gint64 number);

/* The execution has ended. */
void session_guest_grants_end(struct session *session, gint64 exec_id);

#endif
