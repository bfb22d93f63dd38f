/* SPDX-License-Identifier: Apache-2.0
 *
 * limits - bound the undo log's size, and evict steps.
 *
 * There are two kinds of bytes. Copied bytes (the step's record, and content
 * about to be overwritten) are extra and count against max_log_size and
 * max_single_step_size. Moved bytes (removed files) existed before, and cloned
 * content is shared; they count only against the filesystem's free space. So a
 * step that deletes 100 GB stays undoable as long as the disk has room.
 *
 * L1  The oldest step is evicted first: the remaining ones stay undoable.
 * L2  Every eviction is reported, with the step's id.
 * L3  An open step that has copied too much is marked as unprotected in its
 *     record before any change is made without capture. It can never be
 *     rolled back, and neither can older steps.
 *     If no limit was configured, bytes that one step copies beyond the
 *     default are charged to the free disk, like moved bytes: up to a quarter
 *     of what is free beyond min_free, so that this is rare.
 * L4  Low free space never evicts the newest step, nor steps that hold almost
 *     nothing of the missing bytes: other files fill that disk. A change that
 *     finds the disk full does not either.
 *
 * Threads: see each call.
 */
#ifndef INTERCEPTOR_ENGINE_LIMITS_H
#define INTERCEPTOR_ENGINE_LIMITS_H

#include "interceptor/engine/core.h"

/* Apply the non-zero members of wanted; a limit of 0 gets its default. FALSE
 * and ERROR_INVALID_FIELD if one is below -1: nothing is changed. */
gboolean limits_set(struct ic *ic, const struct ic_limits *wanted,
                    GError **error);

/* Return how many bytes the open step may copy, for wal.limit. */
int64_t limits_of_step(const struct ic *ic);

/* Return how many bytes an undo may copy for its redo; below 0: no limit. */
int64_t limits_of_redo(struct ic *ic);

/* With the gate write-locked: evict the oldest steps until the log is within
 * its limits. */
void limits_apply_locked(struct ic *ic);

/* Return how many bytes of the free space a step may copy beyond its limit;
 * excess: bytes of that which it has copied already. */
int64_t limits_free_share(struct ic *ic, int64_t excess);

/* Return whether a change failed (rc: -ENOSPC, -EDQUOT) because the disk is
 * full, and not because of another quota or the change's own size. */
bool limits_is_full(struct ic *ic, ssize_t rc);

/* Return whether the log's filesystem is so full that room matters more than
 * redo. With the gate locked. */
bool limits_is_nearly_full(struct ic *ic);

/* As limits_make_room(), with the gate write-locked. */
bool limits_make_room_locked(struct ic *ic, ssize_t rc);

#endif
