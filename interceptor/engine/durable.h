/* SPDX-License-Identifier: Apache-2.0
 *
 * durable - survive a power cut.
 *
 * A kill loses no written data, so by default nothing is waited for. With
 * IC_DURABILITY_POWER:
 *
 * D1  The preimage of a change and its record are on disk before the change
 *     is made. So the next start rolls back a step that a power cut
 *     interrupts, as after a kill.
 * D2  When a step is committed, its changes are on disk, and the commit.
 * D3  When a step is rolled back, the restored state is on disk before the
 *     step is removed.
 *
 * Moves into the log are not waited for: the filesystem's journal has a rename
 * or a link, and the change that follows it, in this order. That holds for
 * ext4, XFS and btrfs, and is required of any other filesystem.
 *
 * Group commit. Many changes may wait at once. The first to find no leader
 * becomes it and syncs all that is written by then; the others wait, and only
 * those that wrote later sync again. names is not held meanwhile: a change of
 * names that has written a record ends with -ERESTART, waits, and is repeated;
 * then it finds everything captured.
 *
 * Repeated writes look at no file, only whether their inode is captured. Since
 * that may be so before the capture is on disk, they wait while a capture is in
 * flight.
 *
 * If a sync fails, the state on disk is unknown: changes fail with that error
 * until the step ends.
 *
 * Locks: lock is a leaf.
 */
#ifndef INTERCEPTOR_ENGINE_DURABLE_H
#define INTERCEPTOR_ENGINE_DURABLE_H

#include "interceptor/engine/core.h"

void durable_init(struct durable *durable);
void durable_clear(struct durable *durable);

/* Begin and end a change that may capture. The gate is read-locked between the
 * two. */
void durable_begin(struct ic *ic);
void durable_end(struct ic *ic);

/* Return whether a change must wait although its inode is captured. One or two
 * loads. */
bool durable_is_pending(struct ic *ic);

/* With the gate read-locked and names not held: wait until all captures so far
 * are on disk. Returns 0 or -errno. */
int durable_wait(struct ic *ic);

/* With names held, all captured: return 0 if the change may be made now;
 * -ERESTART: end it, call durable_again(), and repeat it; or another -errno. */
int durable_check(struct ic *ic);

/* The same without -ERESTART, for changes that cannot be repeated. */
int durable_check_now(struct ic *ic);

/* The record has become shorter (a commit failed): the synced size is void.
 * With the gate write-locked. */
void durable_forget(struct ic *ic);

/* rc: the result of a change. True: repeat it. No lock may be held. */
bool durable_again(struct ic *ic, ssize_t rc);

/* With the gate write-locked, before the end record: sync all that the step
 * changed (D2, D3). Returns 0 or -errno. */
int durable_sync_share(struct ic *ic);

/* After it: sync the record and the content. */
int durable_sync_step(struct ic *ic);

#endif
