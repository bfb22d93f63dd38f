/* SPDX-License-Identifier: Apache-2.0
 *
 * report - the effect report: the net changes of a step.
 *
 * A file created and then deleted is no change; two renames are one; a replaced
 * file is modified, but one that a renamed file replaced is deleted, since the
 * rename is listed by itself. A directory is not listed if only its mtime
 * changed because its entries did.
 */
#ifndef INTERCEPTOR_REPORT_REPORT_H
#define INTERCEPTOR_REPORT_REPORT_H

#include <jansson.h>

#include "interceptor/interceptor.h"
#include "interceptor/log/step.h"
#include "interceptor/report/survey.h"

enum {
    REPORT_MAX_CHANGES = 1000,
    REPORT_MAX_BYTES = 1 << 20, /* total of their paths */
};

/* Report the step's changes so far. blobs: its blobs folder. redone: the step
 * may have moved folders as a whole, whose entries no record lists; only a redo
 * does. A new object. */
struct ic_step_info *report_make(struct step *step, const struct survey *survey,
                                 int blobs, bool redone);

/* Return whether the tree is as before the step, times included, so that there
 * is nothing to undo: for example if everything that the step tried failed. */
bool report_is_nothing(const struct step *step, const struct survey *survey,
                       const struct ic_step_info *info);

/* Return a report without changes, from the step's header and end record. A new
 * object. */
struct ic_step_info *report_from_step(const struct step *step);

/* Return a report for a step whose record is unreadable. A new object. */
struct ic_step_info *report_of_damaged(int64_t id);

/* Return the members of a manifest's end record. */
json_t *report_to_end_record(const struct ic_step_info *info);

/* Return an empty report of this step. */
struct ic_step_info *report_new(const struct step *step);

/* Copy who made each change from another report of the same step. */
void report_copy_by(struct ic_step_info *info, const struct ic_step_info *from);

/* Turn the report into one of what undoing the step does. */
void report_turn_round(struct ic_step_info *info);

/* Return a member of the report's "changes". A new reference. */
json_t *report_change_to_json(const struct ic_change *change);

/* Return the effect report of the control protocol and the STDIO API: step_id,
 * type, command, exit_code, started, ended, duration_ms, undoable,
 * affected_paths, affected, counts (by kind of change), changes, truncated; for
 * a denied step also aborted and reason. A new reference. */
json_t *report_to_json(const struct ic_step_info *info);

#endif
