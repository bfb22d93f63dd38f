/* SPDX-License-Identifier: Apache-2.0
 *
 * session_plan - plan which steps of each folder's log an undo covers.
 *
 * The plan is made from the histories; a preview follows. The preview closes
 * the open step of outside changes, which then is the newest step, and other
 * processes may undo and redo concurrently. The plan is therefore compared with
 * the preview and made again if they differ. If a guest process writes
 * continuously, every preview finds one more such step; after some attempts the
 * undo uses the last plan, which is sent to the daemons as step ids.
 */
#ifndef AGENT_SESSION_SESSION_PLAN_H
#define AGENT_SESSION_SESSION_PLAN_H

#include "agent/session/session_spread.h"
#include "common/errors.h"

/* Call after a history request to all logs: set counts, and record the steps.
 * Return NULL, or an error if there are too few steps. */
GError *session_plan_make(struct session_spread *spread);

/* Return the error that only this many steps can be undone or redone. A new
 * error. */
GError *session_plan_too_few(enum error_code code, size_t found,
                             unsigned wanted, const char *what);

/* Call after the preview, also if there was no plan. */
bool session_plan_holds(const struct session_spread *spread);

#endif
