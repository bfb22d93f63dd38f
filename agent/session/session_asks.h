/* SPDX-License-Identifier: Apache-2.0
 *
 * session_asks - questions about connections to names under ask, in the queue
 * of requests (session_approval.h).
 *
 * Once: the connections that are held go on, later ones ask again. Always: the
 * name and port become an entry of the session's network policy.
 */
#ifndef AGENT_SESSION_SESSION_ASKS_H
#define AGENT_SESSION_SESSION_ASKS_H

#include "agent/machine/network_asks.h"
#include "agent/session/session_approval.h"

/* So many at a time: a guest that asks must not fill the queue. */
enum { ASKS_MAX = 4 };

/* Callbacks of a machine; opaque is the session. */
void session_asks_take(const struct network_question *question, void *opaque);
void session_asks_withdraw(gint64 id, void *opaque);

/* As session_approval_decide(), for a pending request of this kind. */
void session_asks_decide(struct approval *approval,
                         const struct approval_decision *decision,
                         reply_done done, void *opaque);

#endif
