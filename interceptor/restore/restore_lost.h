/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_lost - restore without what another process has removed.
 *
 * A step that is rolled back by force or after a crash may have changed a file
 * or directory that another process has since removed or replaced. A forced
 * rollback (RESTORE_FORCED) restores it nevertheless if the log has all of its
 * content or if it exists under another name. A directory that was replaced is
 * restored in its replacement; a file that is in the way is put aside like what
 * the step created.
 *
 * Any other such inode is lost to this rollback, and so is an inode whose only
 * places are in lost directories. Everything else is restored; what now has the
 * names of a lost inode stays, and what the log has of its content goes to a
 * separate file (restore_content.h).
 *
 * Lost inodes are recorded before the tree changes: they cannot be identified
 * half-way through a rollback.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_LOST_H
#define INTERCEPTOR_RESTORE_RESTORE_LOST_H

#include "interceptor/restore/restore_base.h"

/* Find and record what is lost, before the tree changes. 0 or -errno. */
int restore_find_lost(struct restore *r);

/* Remove what is lost from the step's tables. 0 or -errno: unknown, and the
 * tables have not changed. */
int restore_drop_lost(struct restore *r);

/* If the inode is a directory, which the step had moved, note that it is made
 * anew without what the step had not changed in it (restore_emptied()). */
void restore_note_emptied(struct restore *r, const struct step_inode *inode);

/* Record an inode that is lost although it existed before (restore_late.h), and
 * remove it from the step's tables. 0 or -errno. */
int restore_lose(struct restore *r, struct step_inode *inode);

/* Record metadata for a directory that has none recorded, so that it can be
 * made anew. 0 or -errno. */
int restore_record_plain_folder(struct restore *r, struct step_inode *dir);

#endif
