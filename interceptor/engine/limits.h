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

#include "interceptor/engine/core.h"

/* Take over what is set in wanted (not 0); a limit of 0 gets its default.
 * FALSE and ERROR_INVALID_FIELD if one is below -1: nothing is changed. */
gboolean limits_set(struct ic *ic, const struct ic_limits *wanted,
                    GError **error);

/* How much the open step may copy, for wal.limit. */
int64_t limits_of_step(const struct ic *ic);

/* How much an undo may copy for its redo; below 0: as much as it needs. */
int64_t limits_of_redo(struct ic *ic);

/* With the gate write-locked: forget the oldest steps until the log is within
 * its limits. */
void limits_apply_locked(struct ic *ic);

/* Of what is free on the log's file system, how much a step may copy beyond its
 * limit; excess: what of that it has copied already. Bytes. */
int64_t limits_free_share(struct ic *ic, int64_t excess);

/* Return whether the disk is what a change failed for (rc: -ENOSPC, -EDQUOT),
 * and not a quota of something else, or that change's own size. */
bool limits_is_full(struct ic *ic, ssize_t rc);

/* Is so little free on the log's file system that room matters more than redo?
 * With the gate locked. */
bool limits_is_nearly_full(struct ic *ic);

/* As limits_make_room(), with the gate write-locked. */
bool limits_make_room_locked(struct ic *ic, ssize_t rc);

/* With the gate write-locked: if the open step is unprotected, drop what it had
 * kept until then. True if there was something. */
bool limits_drop_kept_locked(struct ic *ic);

#endif
