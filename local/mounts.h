/* SPDX-License-Identifier: Apache-2.0
 *
 * mounts - identify FUSE mounts by the device number of their file system.
 *
 * Processes of the sandbox can rename the parents of a mount point: a path does
 * not identify a mount.
 */
#ifndef LOCAL_MOUNTS_H
#define LOCAL_MOUNTS_H

#include <stdint.h>

/* Return the device number of the mount at this path, relative to the fd (""
 * names the fd itself), without a request to its file server: it may not
 * serve yet, or no longer. On failure return 0 with errno. */
uint64_t mounts_device(int fd, const char *path);

/* Return the path of a mount with this device number in the current mount
 * namespace: a new string, or NULL with errno, which is 0 if there is none.
 * proc: the host's /proc, opened before this process has entered the
 * namespace. */
char *mounts_find(int proc, uint64_t device);

#endif
