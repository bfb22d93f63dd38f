/* SPDX-License-Identifier: Apache-2.0
 *
 * places - where a rollback has put the inodes that the server knows.
 */
#ifndef INTERCEPTOR_PLACES_H
#define INTERCEPTOR_PLACES_H

#include "interceptor/inode.h"
#include "interceptor/step.h"

/* The step was taken back or redone: each name that it had changed is what it
 * was before, and who is closed (inode.h) is to be found by that. With the gate
 * write-locked. */
void places_note_restored(struct inode_table *table, dev_t dev,
                          const struct step *step);

#endif
