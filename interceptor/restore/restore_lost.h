/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_lost - do without what somebody else has taken away.
 *
 * A step that is taken back by force, or after a crash, may have changed a
 * file or a folder that is no longer there: removed from outside, or replaced
 * by another one of that name. A forced rollback (RESTORE_FORCED) puts it back
 * all the same, in its place, if the log has all of its content or if it lives
 * on under a name that another process gave it; of a folder in whose place
 * there is another one it takes that; and what it finds in the place of a file
 * is put aside as what the step made is.
 *
 * An inode of which neither is true is lost to this rollback, and so is what
 * has no place but in lost folders. Everything else is restored, what is now at
 * its names is left alone, and what the log has of its content is written to a
 * file of its own (restore_content.h).
 *
 * What is lost is recorded before anything is changed, since in the middle of
 * a rollback it cannot be told any more.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_LOST_H
#define INTERCEPTOR_RESTORE_RESTORE_LOST_H

#include "interceptor/restore/restore_base.h"

/* Nothing has been changed yet: find what is lost and record it. 0 or -errno.
 */
int restore_find_lost(struct restore *r);

/* Take what is lost out of the step's tables. 0 or -errno: it cannot be told,
 * and the tables are as they were. */
int restore_drop_lost(struct restore *r);

/* If the inode is a folder, which the step had moved: it is made anew, and what
 * the step had not changed in it is gone (restore_emptied()). */
void restore_note_emptied(struct restore *r, const struct step_inode *inode);

/* The inode is lost although it was there before (restore_late.h): record it,
 * and take it out of the step's tables. 0 or -errno. */
int restore_lose(struct restore *r, struct step_inode *inode);

/* Record metadata for a folder of which none is recorded, so that it can be
 * made anew. 0 or -errno. */
int restore_record_plain_folder(struct restore *r, struct step_inode *dir);

#endif
