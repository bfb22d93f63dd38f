/* SPDX-License-Identifier: Apache-2.0
 *
 * redo_stack - the inverses in redo/: how many a redo takes, and what happens
 * to them when the disk is nearly full.
 *
 * The undo of a step that has filled the disk moves what the step had written
 * into the inverse, so the disk stays full. Then all inverses are given up:
 * room is what the user undoes such a step for. But an inverse may hold what
 * another process wrote, which a forced undo has put aside there. So each
 * inverse of an undo that met no edits is marked (STEP_MARK_OWN), and if one is
 * not, all stay: those above it lead to it.
 *
 * All calls with the gate write-locked.
 */
#ifndef INTERCEPTOR_ENGINE_REDO_STACK_H
#define INTERCEPTOR_ENGINE_REDO_STACK_H

#include "interceptor/engine/core.h"
#include "interceptor/engine/rollback_extent.h"

/* How many inverses a redo of this extent takes back: so many, and with each
 * those that follow it and do not count. */
unsigned redo_stack_count(struct ic *ic, const struct rollback_extent *extent);

/* A rollback is done: give up all inverses if the disk is nearly full and they
 * hold more than next to nothing. result: for a warning. */
void redo_stack_make_room(struct ic *ic, struct ic_rollback_result *result);

#endif
