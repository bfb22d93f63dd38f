/* SPDX-License-Identifier: Apache-2.0
 *
 * places - where a rollback has put the inodes that the server knows.
 */
#ifndef INTERCEPTOR_RESTORE_PLACES_H
#define INTERCEPTOR_RESTORE_PLACES_H

#include "interceptor/inode/inode.h"
#include "interceptor/log/step.h"

/* The step was taken back or redone: what the server knows of its inodes is at
 * home now (step.h), which the next step looks for there, as does who opens a
 * closed one (inode.h). root: the share; borrowed. After step_sort(), with the
 * gate write-locked. */
void places_note_restored(struct inode_table *table, dev_t dev, int root,
                          const struct step *step);

#endif
