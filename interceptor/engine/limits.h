/* SPDX-License-Identifier: Apache-2.0
 *
 * limits - how much the undo log may hold, and what goes when it is too much.
 *
 * Two kinds of bytes. What the log copied (the step's record, and content that
 * was about to be overwritten) is the log's own doing and counts against
 * max_log_size and max_single_step_size. What it moved (files that were
 * removed) was there before, and cloned content is shared; they count against
 * the free space of the filesystem alone. So a step that deletes 100 GB stays
 * undoable as long as the disk has room.
 *
 * L1  The oldest step goes first: steps that are left can be taken back.
 * L2  A step that is forgotten is always told of, by its id.
 * L3  An open step that has copied too much is marked as unprotected in its
 *     record before anything goes through uncaptured. It can never be taken
 *     back, and so nor can what is older: it is a wall.
 *     Where no limit was configured, what one step copies beyond the default is
 *     charged to the free disk, as what is moved is: up to a quarter of what is
 *     free beyond min_free, so that a wall is rare.
 * L4  Low free space never takes the newest step, nor steps that hold next to
 *     nothing of what is missing: other things fill that disk. Nor does a
 *     change that finds it full.
 *
 * Threads: see each call.
 */
#ifndef INTERCEPTOR_ENGINE_LIMITS_H
#define INTERCEPTOR_ENGINE_LIMITS_H

#include "interceptor/engine/engine.h"

/* Take over what is set in wanted (not 0); a limit of 0 gets its default.
 * FALSE and ERROR_INVALID_FIELD if one is below -1: nothing is changed. */
gboolean limits_set(struct ic *ic, const struct ic_limits *wanted,
                    GError **error);

/* With names held and a step open: is there room in it for more? It becomes
 * unprotected if not. 0 or -errno. */
int limits_check_step(struct ic *ic);

/* How much the open step may copy, for wal.limit. */
int64_t limits_of_step(const struct ic *ic);

/* How much an undo may copy for its redo; below 0: as much as it needs. */
int64_t limits_of_redo(struct ic *ic);

/* The step cannot keep what it is about to change, of this inode, which has so
 * many bytes: make it unprotected. With names held. 0 or -errno; -EXFULL: there
 * is more room now, or an ambient step is to end; then the change is to end,
 * too, and limits_make_room() says that it is to be made again. */
int limits_unprotect(struct ic *ic, uint64_t ino, int64_t size);

/* The same without names, for a change that content_keep() told so. */
int limits_unprotect_unlocked(struct ic *ic, uint64_t ino, int64_t size);

/* With the gate write-locked: forget the oldest steps until the log is within
 * its limits. */
void limits_apply_locked(struct ic *ic);

/* Is so little free on the log's file system that room matters more than redo?
 * With the gate locked. */
bool limits_is_nearly_full(struct ic *ic);

/* rc is what a change said. If the disk is full, make room in the log and
 * return true: the change is to be tried again. So it is when it had to leave
 * to be made durable. Nothing may be held. */
bool limits_make_room(struct ic *ic, ssize_t rc);

/* The same for a removal, which may have what the log keeps for bad times:
 * without it a full disk could stay full. */
bool limits_make_room_to_remove(struct ic *ic, ssize_t rc);

/* As limits_make_room(), with the gate write-locked. */
bool limits_make_room_locked(struct ic *ic, ssize_t rc);

#endif
