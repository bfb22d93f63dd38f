/* SPDX-License-Identifier: Apache-2.0
 *
 * verify - find outside edits of what a step left.
 *
 * Before a rollback, the inodes that the step touched are compared with the
 * state recorded at its end (post_state.h). This needs no watcher: it finds
 * edits from times when no Stepback process ran. Of an inode it compares
 * number, mode, size, mtime and ctime; so a file that was rewritten with the
 * same bytes counts, and so does a replaced one. Changes that undo itself made
 * since are in the ctime ledger (ctime_ledger.h) and do not count.
 *
 * Not examined: inodes that the step did not touch, and entries of directories
 * that it only moved; undo does not change these. Nor a file that the step
 * changed under a name that it then removed, if the file has other names: no
 * record leads to those.
 */
#ifndef INTERCEPTOR_REPORT_VERIFY_H
#define INTERCEPTOR_REPORT_VERIFY_H

#include "interceptor/log/step.h"
#include "interceptor/log/undo_log.h"

/* Return the paths at which something is not as the step left it: a new array
 * of new strings, empty if there are none. Recorded inodes among them are
 * marked STEP_EDITED. root: of the share. NULL if unknown, because the step
 * recorded no end state. */
GPtrArray *verify_step(struct undo_log *log, struct step *step, int root);

/* The step was rolled back, or dropped because nothing had changed: its inodes
 * are as before it. Record their new states for older steps. */
void verify_note_undone(struct undo_log *log, struct step *step, int root,
                        int blobs);

#endif
