/* SPDX-License-Identifier: Apache-2.0
 *
 * notifier - notifies the kernel, over /dev/fuse, of changes that it did not
 * request.
 *
 * The kernel takes its own locks to process a notification: that of the
 * directory whose name expires, which a request on that directory holds until
 * it is answered; and for data it waits for pages under write-back, that is,
 * for requests. So a dedicated thread that holds no lock of the engine writes
 * notifications, while other threads serve requests.
 *
 * Batches are sent in order, and repeated later (notifier.c). A batch without a
 * waiting caller is merged with the last one. Instead of more items than it may
 * have, it then has all that the kernel is known to have cached; only names
 * that do not exist, and further names of one inode, are not known. Those stay
 * until they expire. FUSE_NOTIFY_INC_EPOCH (Linux 6.16) would end them as well,
 * but also detach each mount below and make working directories look removed.
 */
#ifndef VIRTIOFS_FUSE_NOTIFIER_H
#define VIRTIOFS_FUSE_NOTIFIER_H

#include <stdbool.h>
#include <stddef.h>

#include "interceptor/interceptor.h"
#include "virtiofs/fuse/fuse_server.h"

struct notifier;

/* Both are borrowed; device: /dev/fuse. Return NULL and -errno in *ret_rc if no
 * thread can be started. */
struct notifier *notifier_new(int device, struct fuse_server *server,
                              int *ret_rc);

/* Release the waiting callers, send no more notifications, and end the thread.
 * Call it while requests are still served, or after the kernel gave the mount
 * up. */
void notifier_stop(struct notifier *notifier);

/* Call it after notifier_stop(), when no other call runs. NULL is allowed. */
void notifier_free(struct notifier *notifier);

/* For ic_set_stale(); tags are node ids. wait: until the kernel has processed
 * the whole list, at most NOTIFIER_PATIENCE_MS. */
void notifier_tell(const struct ic_stale *list, size_t n, bool wait,
                   void *notifier);

#define NOTIFIER_PATIENCE_MS 10000

#endif
