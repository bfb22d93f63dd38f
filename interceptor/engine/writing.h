/* SPDX-License-Identifier: Apache-2.0
 *
 * writing - note in the open step which process of the client makes a change.
 *
 * A process that changes an inode again must cost nothing: `seen` has a
 * fingerprint of the newest triples (step, inode, process) that were noted. A
 * collision of two fingerprints loses a name in a report, and nothing else.
 *
 * Threads: any. All functions are called within a change (engine_enter()).
 */
#ifndef INTERCEPTOR_ENGINE_WRITING_H
#define INTERCEPTOR_ENGINE_WRITING_H

#include "interceptor/engine/core.h"

/* This thread's request has changed the inode. With names not held. */
void writing_note(struct ic *ic, const struct ic_inode *inode);

/* The same, with names held: for inodes that the step has made or linked. */
void writing_note_locked(struct ic *ic, const struct ic_inode *inode);

/* It has changed what dir/name refers to. With names held, after the capture.
 */
void writing_note_name(struct ic *ic, const struct ic_inode *dir,
                       const char *name);

#endif
