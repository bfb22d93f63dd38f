/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_stand_in - whose is this number now?
 *
 * An inode number is an identity only while the inode lives. Where another
 * process has removed what the step knew, something else may have its number,
 * and must not be taken for it; and a folder made in the place of another one
 * is the place for what belongs there. Both are recorded as stand-ins (step.h,
 * "g") before anything is changed.
 */
#ifndef INTERCEPTOR_RESTORE_RESTORE_STAND_IN_H
#define INTERCEPTOR_RESTORE_RESTORE_STAND_IN_H

#include "interceptor/restore/restore_base.h"

/* Give a number that nothing has to each inode whose number another has by now,
 * and, if the rollback is forced, that of the folder in its place to each
 * folder that is gone. survey: of the tree, made anew if need be. 0 or -errno.
 */
int restore_settle_numbers(struct restore *r, struct survey **survey);

/* The inode is nowhere: it gets a number that nothing has. 0 or -errno. */
int restore_disown(struct restore *r, struct step_inode *inode);

/* By what is recorded of it. */
bool restore_is_folder(const struct step_inode *inode);

#endif
