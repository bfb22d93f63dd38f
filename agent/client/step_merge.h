/* SPDX-License-Identifier: Apache-2.0
 *
 * step_merge - what several folders' undo logs say, as one.
 *
 * A command is a step with the same id in the log of each folder that it
 * changed. Steps of no command (their ids are below 0) are each log's own.
 */
#ifndef AGENT_CLIENT_STEP_MERGE_H
#define AGENT_CLIENT_STEP_MERGE_H

#include <stddef.h>

#include "agent/base/undo_result.h"

/* Of the changes of one report. */
enum { STEP_MERGE_MAX_CHANGES = 1000 };

/* Return one report of one step's (a list that is not empty), with the parts of
 * the folders that it changed. What can be undone in one folder and not in
 * another cannot be undone. A new reference. */
struct step_report *step_merge_reports(GPtrArray *reports);

/* Return the steps of several logs (each a list of reports; NULL: none) as one
 * list, at most limit long, in the order of time: the newest first, as the
 * lists are; or, backwards, the oldest first, as those lists are. counts (may
 * be NULL) gets how many entries of each log these are. A new list. */
GPtrArray *step_merge_lists(GPtrArray *const *lists, unsigned n, size_t limit,
                            bool backwards, unsigned *counts);

/* Return how many reports of the list (newest first) an undo of "wanted" steps
 * covers. Unchanged steps are included but not counted, unless too few others
 * exist. If the list is shorter, return "wanted". */
size_t step_merge_extend(GPtrArray *reports, size_t wanted);

#endif
