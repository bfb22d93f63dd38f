/* SPDX-License-Identifier: Apache-2.0
 *
 * limits_step - limits of the open step, and a disk that is full in a change.
 */
#ifndef INTERCEPTOR_ENGINE_LIMITS_STEP_H
#define INTERCEPTOR_ENGINE_LIMITS_STEP_H

#include "interceptor/engine/limits.h"

/* With names held and a step open: is there room in it for more? It becomes
 * unprotected if not. 0 or -errno. */
int limits_check_step(struct ic *ic);

/* The step cannot keep what it is about to change, of this inode, which has so
 * many bytes: make it unprotected. With names held. 0 or -errno; -EXFULL: there
 * is more room now, or an ambient step is to end; then the change is to end,
 * too, and limits_make_room() says that it is to be made again. */
int limits_unprotect(struct ic *ic, uint64_t ino, int64_t size);

/* The same without names, for a change that content_keep() told so. */
int limits_unprotect_unlocked(struct ic *ic, uint64_t ino, int64_t size);

/* rc is what a change said. If the disk is full, make room in the log and
 * return true: the change is to be tried again. So it is when it had to leave
 * to be made durable. Nothing may be held. */
bool limits_make_room(struct ic *ic, ssize_t rc);

/* The same for a removal, which may have what the log keeps for bad times:
 * without it a full disk could stay full. */
bool limits_make_room_to_remove(struct ic *ic, ssize_t rc);

#endif
