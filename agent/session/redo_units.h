/* SPDX-License-Identifier: Apache-2.0
 *
 * redo_units - which steps of several folders' logs are brought back together.
 *
 * Each log lists what it can bring back, and a command's step has the same id
 * in all; that is a unit. But one of the folders may have changed since, and
 * then its log lists nothing any more. So the session remembers, as long as it
 * runs, in which folders a step was taken back (session->undone), and a unit
 * that lacks one of them is none. What was taken back before the session began
 * is as the logs have it.
 *
 * The main thread's, as all of the session is.
 */
#ifndef AGENT_SESSION_REDO_UNITS_H
#define AGENT_SESSION_REDO_UNITS_H

#include "agent/session/session_spread.h"

/* These steps (merged reports, borrowed) were taken back, or brought back. */
void redo_units_note(struct session *session, GPtrArray *steps, bool undone);

/* After a history of all: how many of the next units, max at most, can be
 * brought back as a whole; counts: how many steps of each folder these are.
 * What left all as it was goes along with the unit before it and does not
 * count. */
unsigned redo_units_count(const struct session_spread *spread, unsigned max,
                          unsigned *counts);

/* How many steps can be brought back without naming a folder. */
unsigned redo_units_count_all(const struct session_spread *spread);

/* A folder can bring back more than these. */
bool redo_units_has_others(const struct session_spread *spread,
                           const unsigned *counts);

#endif
