/* SPDX-License-Identifier: Apache-2.0
 *
 * limits_step - limits of the open step, and changes that find the disk full.
 */
#ifndef INTERCEPTOR_ENGINE_LIMITS_STEP_H
#define INTERCEPTOR_ENGINE_LIMITS_STEP_H

#include "interceptor/engine/limits.h"

/* With names held and a step open: check its limit; beyond it, the step becomes
 * unprotected. Returns 0 or -errno. */
int limits_check_step(struct ic *ic);

/* The step cannot save what it is about to change of this inode, which has size
 * bytes: make it unprotected. With names held. Returns 0 or -errno; -EXFULL:
 * the limit was raised, or an ambient step must end; then the change must end,
 * too, and limits_make_room() says that it must be repeated. */
int limits_unprotect(struct ic *ic, uint64_t ino, int64_t size);

/* The same without names, for a change to which content_keep() returned
 * -EXFULL. */
int limits_unprotect_unlocked(struct ic *ic, uint64_t ino, int64_t size);

/* rc: the result of a change. If the disk is full, make room in the log and
 * return true: the change must be repeated. Also true if it ended in order to
 * be made durable. No lock may be held. */
bool limits_make_room(struct ic *ic, ssize_t rc);

/* The same for a removal, which may use the reserve: otherwise a full disk
 * could stay full. */
bool limits_make_room_to_remove(struct ic *ic, ssize_t rc);

#endif
