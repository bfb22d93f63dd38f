/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_stand_in - handle inode numbers that have been reused.
 *
 * An inode number identifies an inode only while that exists. After another
 * process has removed an inode that the step knew, a different one may have its
 * number and must not be mistaken for it; and a directory that was made in
 * place of another takes the content of that one. Both are recorded as
 * stand-ins (step.h, "g") before the tree changes.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_STAND_IN_H
#define INTERCEPTOR_RESTORE_RESTORE_STAND_IN_H

#include "interceptor/restore/restore_base.h"

/* Give an unused number to each inode whose number another inode has now; if
 * the rollback is forced, give each missing directory the number of the
 * directory in its place. survey: of the tree; made anew if needed. 0 or
 * -errno. */
int restore_settle_numbers(struct restore *r, struct survey **survey);

/* Give an inode that no longer exists an unused number. 0 or -errno. */
int restore_disown(struct restore *r, struct step_inode *inode);

/* Return whether the inode is a directory by its record. */
bool restore_is_folder(const struct step_inode *inode);

#endif
