/* SPDX-License-Identifier: Apache-2.0
 *
 * step_merge - what several folders' undo logs say, as one.
 *
 * A command is a step with the same id in the log of each folder that it
 * changed. Steps of no command (their ids are below 0) are each log's own.
 * Reports are those of the control protocol.
 */
#ifndef AGENT_CLIENT_STEP_MERGE_H
#define AGENT_CLIENT_STEP_MERGE_H

#include <jansson.h>
#include <stdbool.h>

/* Of the changes of one report. */
enum { STEP_MERGE_MAX_CHANGES = 1000 };

/* Name the folder, as "directory", in a report and in each of its changes. */
void step_merge_label(json_t *report, const char *label);
/* The same for each object of a list: reports, or barriers. */
void step_merge_label_all(json_t *list, const char *label);

/* One report of one step's labelled ones (a list, borrowed), with
 * "directories": in whose history it is. What can be undone in one folder and
 * not in another cannot be undone. A new reference. */
json_t *step_merge_reports(json_t *reports);

/* The steps of several logs (each a list of labelled reports; NULL: none) as
 * one list, at most limit long, in the order of time: the newest first, as the
 * lists are; or, backwards, the oldest first, as those lists are. counts (may
 * be NULL) gets how many entries of each log these are. A new reference. */
json_t *step_merge_lists(json_t *const *lists, unsigned n, size_t limit,
                         bool backwards, unsigned *counts);

/* Return how many reports of the list (newest first) an undo of "wanted" steps
 * covers. Unchanged steps are included but not counted, unless too few others
 * exist. If the list is shorter, return "wanted". */
size_t step_merge_extend(json_t *reports, size_t wanted);

#endif
