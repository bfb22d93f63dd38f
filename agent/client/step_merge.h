/* SPDX-License-Identifier: Apache-2.0
 *
 * step_merge - merge the reports of several folders' undo logs into one.
 *
 * A command is a step with the same id in the log of each folder that it
 * changed. Steps without a command (negative ids) are private to each log.
 */
#ifndef AGENT_CLIENT_STEP_MERGE_H
#define AGENT_CLIENT_STEP_MERGE_H

#include <stddef.h>

#include "agent/base/undo_result.h"

/* Limit on the changes of one report. */
enum { STEP_MERGE_MAX_CHANGES = 1000 };

/* Merge the reports of one step (a non-empty list) into one, with the parts of
 * the folders that it changed. A step that one folder cannot undo cannot be
 * undone. Returns a new reference. */
struct step_report *step_merge_reports(GPtrArray *reports);

/* Merge the steps of several logs (each a list of reports, or NULL) into one
 * list of at most limit steps in the order of time: newest first like the input
 * lists; with backwards set, oldest first like those lists. counts (may be
 * NULL) gets the number of entries taken from each log. Returns a new list. */
GPtrArray *step_merge_lists(GPtrArray *const *lists, unsigned n, size_t limit,
                            bool backwards, unsigned *counts);

/* Return how many reports of the list (newest first) an undo of "wanted" steps
 * covers. Unchanged steps are included but not counted, unless too few others
 * exist. If the list is shorter, return "wanted". */
size_t step_merge_extend(GPtrArray *reports, size_t wanted);

#endif
