/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_disk_store - the disks of all machines (vm_disk.h): list and remove them.
 */
#ifndef AGENT_VM_VM_DISK_STORE_H
#define AGENT_VM_VM_DISK_STORE_H

#include <glib.h>
#include <stdbool.h>

struct vm_disk_entry {
    char *name;    /* of the directory */
    char *image;   /* or NULL: unknown */
    guint64 bytes; /* of disk space */
};

/* Return the disks that no process uses, sorted by name (of struct
 * vm_disk_entry; a new array). Disks that cannot be examined are left out. */
GPtrArray *vm_disk_store_list(void);

/* Remove a disk. Fails with ERROR_BUSY (a machine uses it) or ERROR_IO_ERROR.
 */
gboolean vm_disk_store_remove(const char *name, GError **error);

#endif
