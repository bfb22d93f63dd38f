/* SPDX-License-Identifier: Apache-2.0
 *
 * notify_device - a notifier's way to the kernel, over /dev/fuse.
 *
 * The kernel takes its own locks to process a notification: that of the
 * directory whose name expires, which a request on that directory holds until
 * it is answered; and for data it waits for pages under write-back, that is,
 * for requests.
 *
 * A name is expired and not dropped (FUSE_EXPIRE_ONLY, Linux 6.2; before that
 * it is dropped): the kernel looks it up at its next use, and a process whose
 * working directory it is keeps that directory. Only removals of files are
 * notified as such, for processes that watch the file. A directory would stay
 * dead for the kernel even when a redo brings the same directory back.
 *
 * FUSE_NOTIFY_INC_EPOCH (Linux 6.16) would end the names that do not exist and
 * that are not known (notifier.h) as well, but also detach each mount below and
 * make working directories look removed.
 */
#ifndef VIRTIOFS_FUSE_NOTIFY_DEVICE_H
#define VIRTIOFS_FUSE_NOTIFY_DEVICE_H

#include "virtiofs/fuse/notifier.h"

/* Its opaque points to the file descriptor, an int. */
extern const struct notifier_way notify_device;

#endif
