/* SPDX-License-Identifier: Apache-2.0
 *
 * places - update the places of known inodes after a rollback.
 */
#ifndef INTERCEPTOR_RESTORE_PLACES_H
#define INTERCEPTOR_RESTORE_PLACES_H

#include "interceptor/inode/inode.h"
#include "interceptor/log/step.h"

/* After undo or redo of the step, set the place of each of its inodes that the
 * server knows to the inode's home (step.h). The next step looks for it there,
 * and so does a reopening of a closed inode (inode.h). root: the share;
 * borrowed. After step_sort(), with the gate write-locked. */
void places_note_restored(struct inode_table *table, dev_t dev, int root,
                          const struct step *step);

#endif
