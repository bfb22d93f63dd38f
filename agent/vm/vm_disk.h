/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_disk - the disk of a persistent machine.
 *
 * The disk is a qcow2 overlay over the image's root disk, which is not changed.
 * There is one per working folder (a session's first one) and image:
 *
 *     $XDG_STATE_HOME/stepback/vm/NAME-HASH/
 *         disk.qcow2
 *         base.ext4, base.json    its base (vm_disk_base.h)
 *         lock                    flock()ed by the process that uses the disk
 *
 * An overlay is useless over any other base disk, even over a newer build of
 * the same image, so the disk keeps its base, and that is compared before each
 * use. QEMU gets the base's path with the disk's, because disks of older
 * versions have the path of the image's root disk in their header.
 */
#ifndef AGENT_VM_VM_DISK_H
#define AGENT_VM_VM_DISK_H

#include <glib.h>
#include <stdbool.h>

#include "agent/machine/guest_image.h"
#include "agent/machine/session_config.h"

struct vm_disk;

/* Lock the disk of the first working folder, and create it if it is missing or
 * if config->wipe is set. image must outlive the object. On failure return NULL
 * with ERROR_INVALID_FIELD (the image has no root disk), ERROR_BUSY (another
 * session uses the disk), ERROR_INVALID_DIRECTORY (the disk lies in a working
 * folder: a guest could make it an overlay of any host file) or
 * ERROR_VM_LAUNCH_FAILED (the disk cannot be created, or its base is missing or
 * has changed: it must be wiped). Can copy the image's root disk, and block. */
struct vm_disk *vm_disk_open(const struct session_config *config,
                             const struct guest_image *image, GError **error);

/* Unlock the disk and keep it. NULL is allowed. */
void vm_disk_free(struct vm_disk *disk);

/* Borrowed; NULL for NULL. */
const char *vm_disk_path(const struct vm_disk *disk);
const char *vm_disk_base(const struct vm_disk *disk);

/* Return whether the disk is as large as the image's root disk: only then a
 * template of the image suits it. */
bool vm_disk_fits_image(const struct vm_disk *disk);

#endif
