/* SPDX-License-Identifier: Apache-2.0
 *
 * session_undo - what is asked of the undo logs.
 */
#ifndef AGENT_SESSION_SESSION_UNDO_H
#define AGENT_SESSION_SESSION_UNDO_H

#include "agent/session/session_core.h"

/* A folder's daemon has carried out what others than this session asked of it:
 * steps were taken back, or brought back, or forgotten there. The payload is
 * event.history_changed, of the control protocol. */
void session_undo_take_event(struct session *session, unsigned index,
                             json_t *payload);

#endif
