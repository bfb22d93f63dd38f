/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_disk_store - the disks of all machines (vm_disk.h): list and remove them.
 */
#ifndef AGENT_VM_VM_DISK_STORE_H
#define AGENT_VM_VM_DISK_STORE_H

#include <glib.h>
#include <stdbool.h>

struct vm_disk_entry {
    char *name;  /* of the directory */
    char *image; /* or NULL: unknown */
    guint64
        bytes; /* of disk space; a base that others have, too, is not in it */
    bool is_used; /* a machine runs with it */
};

/* Return the disks, sorted by name (of struct vm_disk_entry; a new array).
 * with_used: also those that a machine uses. Disks that cannot be examined are
 * left out. */
GPtrArray *vm_disk_store_list(bool with_used);

/* Give each disk of an older version a base of its own (vm_disk_base.h) while
 * its image still exists as it was: call it before an image is replaced or
 * removed. Return how many could not get one because of an error; *ret_error
 * has the first. Can copy disks, and block. */
guint vm_disk_store_keep_bases(GError **ret_error);

/* Remove a disk. Fails with ERROR_BUSY (a machine uses it) or ERROR_IO_ERROR.
 */
gboolean vm_disk_store_remove(const char *name, GError **error);

#endif
