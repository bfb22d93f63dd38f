/* SPDX-License-Identifier: Apache-2.0
 *
 * session_undo - requests to the undo logs.
 */
#ifndef AGENT_SESSION_SESSION_UNDO_H
#define AGENT_SESSION_SESSION_UNDO_H

#include "agent/session/session_core.h"

/* Another client of a folder's daemon has undone, redone or discarded steps.
 * The payload is event.history_changed of the control protocol. */
void session_undo_take_event(struct session *session, unsigned index,
                             json_t *payload);

#endif
