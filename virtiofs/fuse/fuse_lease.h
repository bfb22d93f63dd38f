/* SPDX-License-Identifier: Apache-2.0
 *
 * fuse_lease - let a client that cannot be notified keep names and attributes
 * for a moment (--cache=lease).
 *
 * Linux on virtio-fs has no notifications. So each lease ends by itself, and
 * the engine waits for that when it changes the folder:
 *
 * S1  ic_set_stale()'s caller (an undo, a redo, the start of a step) returns
 *     after all leases that may contradict the change have ended. A reply that
 *     was prepared before the change, and is sent after it, has no lease.
 * S2  For two seconds of its activity after a change, the first request of a
 *     thread that changes something through a node fails with -ESTALE. Linux
 *     then resolves the path again without its cache (LOOKUP_REVAL) and repeats
 *     the request once. The repetition is accepted only on a node that these
 *     lookups have reported; or if there were none, as for a name in the
 * working directory. So no change reaches a file that only an outdated name
 * leads to, even if a lease ends late because the client was slow to process
 * its reply.
 *
 * S3  What is watched (ic_inode_is_watched()) needs no lease while the client
 *     can be told: the supervisor has the guest's shim look at each changed
 *     name again (notify_peer.h), and S1 waits for that, unless the client is
 *     paused. A reply that was prepared before the change, and is sent after
 *     it, lets nothing be kept. S2 lasts until two seconds after the client has
 *     looked; or, if it does not, until what it has kept has ended.
 *
 * Requests with a handle are never refused; nor are attributes of an open file,
 * as fchmod(2) cannot be distinguished from chmod(2) and is not repeated.
 *
 * Threads: any.
 */
#ifndef VIRTIOFS_FUSE_FUSE_LEASE_H
#define VIRTIOFS_FUSE_FUSE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "interceptor/interceptor.h"

struct fuse_lease;

/* ic is borrowed. Register fuse_lease_tell() with ic_set_stale(). */
struct fuse_lease *fuse_lease_new(struct ic *ic, double seconds);

/* NULL is allowed. */
void fuse_lease_free(struct fuse_lease *lease);

/* A thread begins to handle a request. NULL is allowed. */
void fuse_lease_begin(struct fuse_lease *lease);

/* Tells the client of changes. */
struct fuse_lease_teller {
    /* As ic_set_stale() says; fuse_lease_tell() calls it. */
    void (*tell)(const struct ic_stale *list, size_t n, bool wait,
                 void *opaque);
    /* Return whether the client has not processed all yet. */
    bool (*is_busy)(void *opaque);
};

/* teller is static. Before requests are served. */
void fuse_lease_set_teller(struct fuse_lease *lease,
                           const struct fuse_lease_teller *teller,
                           void *opaque);

/* With a teller: it reaches the client, which has nothing outdated; or it does
 * no longer, so that what the client has kept may be outdated until it
 * expires. */
void fuse_lease_keep_long(struct fuse_lease *lease, bool can);

/* Return whether the reply may have the client keep for long what is watched
 * (S3). */
bool fuse_lease_is_long(const struct fuse_lease *lease);

/* Return whether the reply may carry a lease, and note it. watched: each change
 * by another process is reported (ic_inode_is_watched()). */
bool fuse_lease_grant(struct fuse_lease *lease, bool watched);

/* For ic_set_stale(). */
void fuse_lease_tell(const struct ic_stale *list, size_t n, bool wait,
                     void *lease);

/* Return whether a thread's change must be refused now (S2). */
bool fuse_lease_guards(struct fuse_lease *lease);

/* Return 0 or -ESTALE: a change through these nodes (other: the same or a
 * second one). Call it only if fuse_lease_guards(). */
int fuse_lease_check(struct fuse_lease *lease, uint32_t thread, uint64_t node,
                     uint64_t other);

/* A thread's request was completed: its next one is no repetition. NULL is
 * allowed. */
void fuse_lease_settle(struct fuse_lease *lease, uint32_t thread);

/* A thread has looked up a name; found: its node, or 0. NULL is allowed. */
void fuse_lease_note_lookup(struct fuse_lease *lease, uint32_t thread,
                            uint64_t dir, uint64_t found);

#endif
