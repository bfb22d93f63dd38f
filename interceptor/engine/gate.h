/* SPDX-License-Identifier: Apache-2.0
 *
 * gate - the entry of every change of the share.
 */
#ifndef INTERCEPTOR_ENGINE_GATE_H
#define INTERCEPTOR_ENGINE_GATE_H

#include "interceptor/engine/core.h"

/* Call once, before everything else. */
void gate_init(struct ic *ic);

/* Begin a change of the inode: wait for the gate and leave it read-locked, or
 * fail (-EROFS, -EIO, -EPERM, -ESTALE, IC_PARKED) with it unlocked. */
int engine_enter(struct ic *ic, struct ic_inode *inode);

/* Return whether the inode is of a mount below the share, which the log cannot
 * hold. */
bool engine_is_mounted(const struct ic *ic, const struct ic_inode *inode);
void engine_leave(struct ic *ic);

/* In a change, with names held: ensure an open step, an ambient one if there is
 * none. Returns 0 or -errno. Without an undo log: 0, and ic->log is NULL. */
int engine_need_step(struct ic *ic);

#endif
