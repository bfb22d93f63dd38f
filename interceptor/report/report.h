/* SPDX-License-Identifier: Apache-2.0
 *
 * report - the effect report: what a step changed, net.
 *
 * Created and then deleted is nothing; renamed twice is one rename; a file
 * that was replaced is modified, but one that a renamed file replaced is
 * deleted, for the renamed one is told by itself. A directory whose only change
 * is the mtime that its entries' changes gave it is not reported.
 */
#ifndef INTERCEPTOR_REPORT_REPORT_H
#define INTERCEPTOR_REPORT_REPORT_H

#include <jansson.h>

#include "interceptor/interceptor.h"
#include "interceptor/log/step.h"
#include "interceptor/report/survey.h"

enum {
    REPORT_MAX_CHANGES = 1000,
    REPORT_MAX_BYTES = 1 << 20, /* of their paths */
};

/* What the step has done so far. blobs: its blobs folder. redone: it may hold
 * folders that went as a whole, whose content no record knows; only a redo
 * moves such. A new object. */
struct ic_step_info *report_make(struct step *step, const struct survey *survey,
                                 int blobs, bool redone);

/* Is the tree what it was before the step, times included? Then there is
 * nothing to undo: everything that the step tried failed, say. */
bool report_is_nothing(const struct step *step, const struct survey *survey,
                       const struct ic_step_info *info);

/* Info without changes: from the step's header and end record. A new object. */
struct ic_step_info *report_from_step(const struct step *step);

/* Of a step whose record cannot be read. A new object. */
struct ic_step_info *report_of_damaged(int64_t id);

/* The members of a manifest's end record, and back. */
json_t *report_to_end_record(const struct ic_step_info *info);

/* An empty one, of this step. */
struct ic_step_info *report_new(const struct step *step);

/* Make it say what undoing the step does. */
void report_turn_round(struct ic_step_info *info);

/* A member of its "changes". A new reference. */
json_t *report_change_to_json(const struct ic_change *change);

/* The effect report of the control protocol and the STDIO API: step_id, type,
 * command, exit_code, started, ended, duration_ms, undoable, affected_paths,
 * affected, counts (by kind of change), changes, truncated; of a denied step
 * also aborted and reason. A new reference. */
json_t *report_to_json(const struct ic_step_info *info);

#endif
