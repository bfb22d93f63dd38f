/* SPDX-License-Identifier: Apache-2.0
 *
 * session_plan - which steps of each folder's log an undo goes back over.
 *
 * The histories say it, and a preview follows. That closes a step of changes
 * outside of steps, which is then the newest; and other processes may undo and
 * redo meanwhile. So the plan is compared with the preview, and made again.
 * Where somebody in the guest writes without end there is always one more such
 * step; after some plans it goes back with what was planned, which the daemons
 * are told by id.
 */
#ifndef AGENT_SESSION_SESSION_PLAN_H
#define AGENT_SESSION_SESSION_PLAN_H

#include "agent/session/session_spread.h"
#include "common/errors.h"

/* After a history of all: sets counts, and notes the steps. NULL, or why there
 * are not so many. */
GError *session_plan_make(struct session_spread *spread);

/* There are so many steps to undo, or to bring back. A new error. */
GError *session_plan_too_few(enum error_code code, size_t found,
                             unsigned wanted, const char *what);

/* After the preview, also where there was no plan. */
bool session_plan_holds(const struct session_spread *spread);

#endif
