/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_disk - the disk of a machine that keeps what it writes.
 *
 * A qcow2 file over the image's root disk, which stays as it is. There is one
 * for each working folder (the first one of a session) and image:
 *
 *     $XDG_STATE_HOME/stepback/vm/NAME-HASH/
 *         disk.qcow2
 *         base.json       which file it lies over, and of what size and time
 *         lock            flock'd by who uses it
 *
 * Such a file is worth nothing over another root disk than its own, not even
 * over a newer build of the same. So that is looked at before it is used.
 */
#ifndef AGENT_VM_VM_DISK_H
#define AGENT_VM_VM_DISK_H

#include <glib.h>
#include <stdbool.h>

#include "agent/vm/guest_image.h"
#include "agent/vm/session_config.h"

struct vm_disk;

/* Lock the disk of the first working folder, and make it if there is none, or
 * if config->wipe. image must live as long. NULL and error: ERROR_INVALID_FIELD
 * (the image has no root disk), ERROR_BUSY (another session uses it),
 * ERROR_INVALID_DIRECTORY (it lies in a working folder: a guest could make it
 * an overlay of any file of the host),
 * ERROR_VM_LAUNCH_FAILED (it cannot be made, or its root disk is another one by
 * now: it must be wiped). */
struct vm_disk *vm_disk_open(const struct session_config *config,
                             const struct guest_image *image, GError **error);

/* Unlock; the disk stays. NULL is allowed. */
void vm_disk_free(struct vm_disk *disk);

/* Borrowed; NULL for NULL. */
const char *vm_disk_path(const struct vm_disk *disk);

#endif
