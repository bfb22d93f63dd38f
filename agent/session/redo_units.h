/* SPDX-License-Identifier: Apache-2.0
 *
 * redo_units - group the steps of several folders' logs that must be redone
 * together.
 *
 * Each log lists the steps that it can redo; a command's step has the same id
 * in every log, and these form a unit. If a folder has changed since the undo,
 * its log lists no redoable steps. The session therefore records in which
 * folders it undid a step (session->undone), and a unit that lacks one of them
 * cannot be redone. For steps undone before the session began, the logs' lists
 * count as complete.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_REDO_UNITS_H
#define AGENT_SESSION_REDO_UNITS_H

#include "agent/session/session_spread.h"

/* Record that these steps (merged reports, borrowed) were undone or redone. */
void redo_units_note(struct session *session, GPtrArray *steps, bool undone);

/* Call after a history request to all logs. Return how many of the next units,
 * at most max, can be redone as a whole; counts receives the number of steps in
 * each folder. A unit without changes goes along with the unit before it and is
 * not counted. */
unsigned redo_units_count(const struct session_spread *spread, unsigned max,
                          unsigned *counts);

/* Return how many steps can be redone without naming a folder. */
unsigned redo_units_count_all(const struct session_spread *spread);

/* Return whether a folder can redo more steps than these. */
bool redo_units_has_others(const struct session_spread *spread,
                           const unsigned *counts);

#endif
