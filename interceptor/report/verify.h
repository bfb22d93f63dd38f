/* SPDX-License-Identifier: Apache-2.0
 *
 * verify - has anybody else changed what a step left, since?
 *
 * Before a step is taken back, what it touched is compared with what it noted
 * at its end (post_state.h). That needs no watcher: it finds what was edited
 * while no process of ours ran. Of an inode it compares number, mode, size,
 * mtime and ctime; so a file that was written anew with the same bytes counts,
 * and one that was replaced. What undo itself has changed in the meantime is
 * known (own.h) and does not count.
 *
 * Not looked at: what the step did not touch, and the inside of directories
 * that it only moved. Undo does not change these. Nor a file that the step
 * changed under a name which it then removed, if it has others: no record leads
 * to those.
 */
#ifndef INTERCEPTOR_REPORT_VERIFY_H
#define INTERCEPTOR_REPORT_VERIFY_H

#include "interceptor/log/step.h"
#include "interceptor/log/undo_log.h"

/* The paths at which something is not as the step left it: a new array of new
 * strings, empty if there are none. Recorded inodes among them are marked
 * STEP_EDITED. root: of the share. NULL if it cannot be told, because the step
 * noted nothing. */
GPtrArray *verify_step(struct undo_log *log, struct step *step, int root);

/* The step was taken back, or dropped because nothing had changed: its inodes
 * are what they were before it. Note under which states, for older steps. */
void verify_note_undone(struct undo_log *log, struct step *step, int root,
                        int blobs);

#endif
