/* SPDX-License-Identifier: Apache-2.0
 *
 * durable - what a power cut must not take.
 *
 * A kill loses nothing that was written, so by default nothing is waited for.
 * With IC_DURABILITY_POWER:
 *
 * D1  What a change destroys and the record of it are on disk before the
 *     change is made. So the step that a power cut interrupts is taken back at
 *     the next start as after a kill.
 * D2  When a step is committed, what it changed is on disk, and the commit.
 * D3  When a step is taken back, what that restored is on disk before the step
 *     is removed.
 *
 * What is moved into the log is not waited for: a rename or a link and the
 * change that follows it are in the file system's journal in this order. That
 * holds for ext4, XFS and btrfs, and is asked of any other.
 *
 * Group commit. Many changes may wait at once. One of them, whoever comes when
 * none is at it, syncs all that is written by then; the others wait for that,
 * and only who wrote later syncs again. names is not held meanwhile: a change
 * of names that has written a record ends with -ERESTART, waits, and is begun
 * again; then it finds everything captured.
 *
 * Repeated writes look at no file, only whether their inode is captured. As
 * that may be so before it is on disk, they wait while a capture is in flight.
 *
 * If a sync fails, nobody knows what is on disk: changes fail with that error
 * until the step ends.
 *
 * Locks: lock is a leaf.
 */
#ifndef INTERCEPTOR_ENGINE_DURABLE_H
#define INTERCEPTOR_ENGINE_DURABLE_H

#include "interceptor/engine/core.h"

void durable_init(struct durable *durable);
void durable_clear(struct durable *durable);

/* A change begins that may capture, and ends. Between the two the gate is
 * read-locked. */
void durable_begin(struct ic *ic);
void durable_end(struct ic *ic);

/* Must a change wait although its inode is captured? One or two loads. */
bool durable_is_pending(struct ic *ic);

/* With the gate read-locked and names not held: wait until all that was
 * captured so far is on disk. 0 or -errno. */
int durable_wait(struct ic *ic);

/* With names held, all captured: may the change be made now? 0; -ERESTART: end
 * it, call durable_again(), and begin it anew; or another -errno. */
int durable_check(struct ic *ic);

/* The same, but it does not have to be begun anew: for what cannot be. */
int durable_check_now(struct ic *ic);

/* The record has become shorter (a commit that failed): what was synced does
 * not tell any more. With the gate write-locked. */
void durable_forget(struct ic *ic);

/* rc is what a change said. True: begin it again. Nothing may be held. */
bool durable_again(struct ic *ic, ssize_t rc);

/* With the gate write-locked. Before the end record: all that the step changed
 * is on disk (D2, D3). 0 or -errno. */
int durable_sync_share(struct ic *ic);

/* After it: the record and the content are. */
int durable_sync_step(struct ic *ic);

#endif
