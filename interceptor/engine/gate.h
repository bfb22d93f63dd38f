/* SPDX-License-Identifier: Apache-2.0
 *
 * gate - what each change of the share passes before it begins.
 */
#ifndef INTERCEPTOR_ENGINE_GATE_H
#define INTERCEPTOR_ENGINE_GATE_H

#include "interceptor/engine/core.h"

/* Once, before all else. */
void gate_init(struct ic *ic);

/* A change of the inode begins: waits for the gate and leaves it read-locked,
 * or fails (-EROFS, -EIO, -EPERM, -ESTALE, IC_PARKED) and does not. */
int engine_enter(struct ic *ic, struct ic_inode *inode);

/* Is it of something mounted below the share, which the log cannot hold? */
bool engine_is_mounted(const struct ic *ic, const struct ic_inode *inode);
void engine_leave(struct ic *ic);

/* With names held, in a change: make sure that a step is open; an ambient one
 * if there is none. 0 or -errno. Without an undo log: 0, and ic->log is NULL.
 */
int engine_need_step(struct ic *ic);

#endif
