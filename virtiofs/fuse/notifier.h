/* SPDX-License-Identifier: Apache-2.0
 *
 * notifier - notifies a client of changes that it did not request.
 *
 * The client's kernel may answer only when other requests have been answered,
 * so a dedicated thread that holds no lock of the engine sends notifications,
 * while other threads serve requests.
 *
 * When it has nothing to send, it looks for changes without a report
 * (fuse_sweep.h).
 *
 * Batches are sent in order. A batch without a waiting caller is merged with
 * the last one. Instead of more items than it may have, it then has all that
 * the client is known to have cached; only names that do not exist, and further
 * names of one inode, are not known. Those stay until they expire.
 */
#ifndef VIRTIOFS_FUSE_NOTIFIER_H
#define VIRTIOFS_FUSE_NOTIFIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interceptor/interceptor.h"
#include "virtiofs/fuse/fuse_server.h"

struct notifier;

/* Something to look at again; dir and inode are node ids. */
struct notifier_item {
    uint64_t dir, inode; /* inode: 0: unknown to the client */
    bool removed;        /* the inode, which is not a folder (ic_stale) */
    char *name;          /* in dir; NULL: the inode alone */
};

/* How notifications reach the client. All but stop run in the notifier's
 * thread. Members may be NULL but item. */
struct notifier_way {
    /* A batch of n items begins; SIZE_MAX: of all that the client is known to
     * have, which is collected after this. */
    void (*begin)(size_t n, void *opaque);
    /* again: a repetition. */
    void (*item)(const struct notifier_item *item, bool again, void *opaque);
    /* Return when the client has processed the batch. */
    void (*end)(void *opaque);
    /* Needed with ic_set_stale_pages(). */
    void (*drop_pages)(uint64_t inode, void *opaque);
    /* From another thread: let begin, item and end return soon. */
    void (*stop)(void *opaque);
    bool repeats; /* each batch is sent again after a second */
};

/* way, opaque, server: borrowed. Return NULL and -errno in *ret_rc if no thread
 * can be started. */
struct notifier *notifier_new(const struct notifier_way *way, void *opaque,
                              struct fuse_server *server, int *ret_rc);

/* Release the waiting callers, send no more notifications, and end the thread.
 * Call it while requests are still served, or after the kernel gave the mount
 * up. */
void notifier_stop(struct notifier *notifier);

/* Call it after notifier_stop(), when no other call runs. NULL is allowed. */
void notifier_free(struct notifier *notifier);

/* For ic_set_stale(); tags are node ids. wait: until the client has processed
 * the whole list and all before it, at most NOTIFIER_PATIENCE_MS. */
void notifier_tell(const struct ic_stale *list, size_t n, bool wait,
                   void *notifier);

/* The client is paused, or no longer: it processes nothing, so no caller waits.
 */
void notifier_pause(struct notifier *notifier, bool paused);

/* Return whether the client has not processed all yet. */
bool notifier_is_busy(const struct notifier *notifier);

#define NOTIFIER_PATIENCE_MS 10000

#endif
