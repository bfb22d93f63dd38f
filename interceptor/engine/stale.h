/* SPDX-License-Identifier: Apache-2.0
 *
 * stale - what the client still believes after another party has changed it.
 *
 * A rollback, a redo and other processes change the share behind the client's
 * back. Its kernel may go on using a name or an inode that it has cached: then
 * a write goes to a file that is in the undo log by now, and is lost.
 *
 * L1  A change of an inode that a rollback has removed from the share fails
 *     with -ESTALE. Linux then looks the path up again. Such inodes are marked
 *     (may_be_gone in inode.h) before the gate opens; a mark is a reason to
 *     look, and costs an inode that is there after all one fstat(2) for each
 *     change, until it is looked up. An inode that the client itself removed
 *     is never marked: it stays usable while it is open, as POSIX has it.
 * L2  A server whose client can be told (ic_set_stale()) is told before the
 *     rollback returns to its caller, and with no lock of the engine held: the
 *     client's kernel may not take it in before a request that is in flight has
 *     been answered.
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

/* A step is taken back or redone, or that failed half-way. survey: of before;
 * or NULL. */
void stale_gather(struct ic *ic, const struct step *step,
                  const struct survey *survey);

/* What was gathered, for stale_tell() once the gate is free; NULL: nothing.
 * With the gate write-locked. */
GArray *stale_take(struct ic *ic);

/* Tell it (taken; may be NULL), and wait until the client has taken it in. */
void stale_tell(struct ic *ic, GArray *list);

/* Something has changed at these paths (char *, relative to the share), and not
 * by the client. wait: as above. */
void stale_tell_paths(struct ic *ic, GPtrArray *paths, bool wait);
void stale_tell_path(struct ic *ic, const char *path);

/* Is there a client that can be told? */
bool stale_is_wanted(struct ic *ic);

#endif
