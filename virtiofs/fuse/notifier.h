/* SPDX-License-Identifier: Apache-2.0
 *
 * notifier - tells the kernel, over /dev/fuse, what changed behind its back.
 *
 * The kernel takes a notification in with locks of its own: that of the folder
 * whose name is to expire, which a request of that folder holds until it is
 * answered, and for data it waits for pages that are being written back, by
 * requests. So notifications are written by a thread that does nothing else and
 * has no lock of the engine's, while others serve requests.
 *
 * Batches are told in the order in which they come. One that nobody waits for
 * is merged with the last, and what would make it too long is left out: the
 * kernel then learns of it when what it caches expires.
 */
#ifndef VIRTIOFS_FUSE_NOTIFIER_H
#define VIRTIOFS_FUSE_NOTIFIER_H

#include <stdbool.h>
#include <stddef.h>

#include "interceptor/interceptor.h"

struct notifier;

/* device: /dev/fuse, borrowed. NULL and -errno in *ret_rc if there can be no
 * thread. */
struct notifier *notifier_new(int device, int *ret_rc);

/* Let those that wait go on, tell no more, and end the thread: while requests
 * are still served, or the kernel has given the mount up. */
void notifier_stop(struct notifier *notifier);

/* After notifier_stop(), when no other call runs. NULL is allowed. */
void notifier_free(struct notifier *notifier);

/* For ic_set_stale(); tags are node ids. wait: until the kernel has taken it
 * all in, but at most NOTIFIER_PATIENCE_MS. */
void notifier_tell(const struct ic_stale *list, size_t n, bool wait,
                   void *notifier);

#define NOTIFIER_PATIENCE_MS 10000

#endif
