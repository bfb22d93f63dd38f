/* SPDX-License-Identifier: Apache-2.0
 *
 * redo_stack - the inverses in redo/: how many a redo takes, and when they are
 * dropped on a nearly full disk.
 *
 * The undo of a step that filled the disk moves the step's files into the
 * inverse, so the disk stays full. Then all inverses are dropped, since a user
 * undoes such a step to get room. But an inverse may hold another process's
 * work, which a forced undo has put aside there. So each inverse of an undo
 * that met no outside edits is marked (STEP_MARK_OWN); if one is not marked,
 * all stay, since the ones above it lead to it.
 *
 * All calls with the gate write-locked.
 */
#ifndef INTERCEPTOR_ENGINE_REDO_STACK_H
#define INTERCEPTOR_ENGINE_REDO_STACK_H

#include "interceptor/engine/core.h"
#include "interceptor/engine/rollback_extent.h"

/* Return how many inverses a redo of this extent applies: as many as it says,
 * and with each the following ones that do not count. */
unsigned redo_stack_count(struct ic *ic, const struct rollback_extent *extent);

/* A rollback is done: drop all inverses if the disk is nearly full and they
 * hold a significant amount. result: for a warning. */
void redo_stack_make_room(struct ic *ic, struct ic_rollback_result *result);

#endif
