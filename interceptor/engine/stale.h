/* SPDX-License-Identifier: Apache-2.0
 *
 * stale - invalidate the client's cache after changes by others.
 *
 * A rollback, a redo and other processes change the share without the client.
 * Its kernel may go on using a cached name or inode: then a write would go to a
 * file that is in the undo log by now, and be lost.
 *
 * L1  A change of an inode that a rollback has removed from the share fails
 *     with -ESTALE. Linux then looks the path up again. Such inodes are marked
 *     (inode_note_suspect()) before the gate opens; a mark only triggers a
 *     check, which costs an inode that exists after all one fstat(2) for each
 *     change until it is looked up. An inode that the client itself removed
 *     is never marked: it stays usable while it is open, as POSIX requires.
 * L2  A server that can notify its client (ic_set_stale()) is called before
 *     the rollback returns to its caller, and with no lock of the engine held:
 *     the client's kernel may not process the notification before a request in
 *     flight has been answered.
 *
 * L2a Such a client may have changed pages of a file in its memory, by a
 *     mapping. They reach the file before a step opens, and before it closes
 *     while processes are left (stale_flush()). What comes after a rollback or
 * a redo of the file, until the client has dropped its pages, is from before,
 *     and so is the rest of each page, which may have what was undone:
 *     ic_pwrite_pages() drops it.
 *
 * L3  A server may let its client cache an inode for long only while
 *     ic_inode_is_watched() returns true for it: then each change by another
 *     process is reported as soon as the watcher has read it. What the client
 *     caches never decides what a step records or what an undo restores.
 *
 * Threads: stale_gather() and stale_take() with the gate write-locked; the
 * others any, with none of the engine's locks held.
 */
#ifndef INTERCEPTOR_ENGINE_STALE_H
#define INTERCEPTOR_ENGINE_STALE_H

#include "interceptor/engine/core.h"
#include "interceptor/report/survey.h"

void stale_init(struct stale *stale);
void stale_clear(struct stale *stale);

/* A step was rolled back or redone, or that failed half-way. survey: from
 * before; or NULL. */
void stale_gather(struct ic *ic, const struct step *step,
                  const struct survey *survey);

/* Return what was gathered, for stale_tell() once the gate is free; NULL:
 * nothing. With the gate write-locked. */
GArray *stale_take(struct ic *ic);

/* Notify the client (ownership of the list taken; may be NULL), and wait until
 * it has processed that. */
void stale_tell(struct ic *ic, GArray *list);

/* Let the client write what its mappings have changed, unless changes wait for
 * a decision now. */
void stale_flush(struct ic *ic);

/* The caller is about to write a former state into the file, in a step: the
 * pages that the client has of it are old until the step is closed or aborted.
 * With a reference, and without the gate. */
void stale_note_pages(struct ic *ic, struct ic_inode *inode);

/* Something has changed at these paths (char *, relative to the share), not by
 * the client. wait: as above. */
void stale_tell_paths(struct ic *ic, GPtrArray *paths, bool wait);
void stale_tell_path(struct ic *ic, const char *path);

/* The engine is about to change names that the client may have cached, without
 * the gate (ic_stale_count()). */
void stale_note_own(struct ic *ic);

/* Wait until the client can no longer act on what changed so far. */
void stale_wait(struct ic *ic);

/* Anything may have changed. */
void stale_tell_all(struct ic *ic, bool wait);

/* See watch_host.complete. */
void stale_set_complete(struct ic *ic, int64_t since_ms);

/* Return whether there is a client that can be notified. */
bool stale_is_wanted(struct ic *ic);

#endif
