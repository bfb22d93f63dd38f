/* SPDX-License-Identifier: Apache-2.0
 *
 * vm_disk_base - the base of a persistent machine's disk.
 *
 * An overlay is useless over any other base. The next build of the image
 * replaces the image's root disk, so each disk has a base of its own, in its
 * folder: a clone of the image's root disk, a hard link to it, or a copy if the
 * file system or the image's owner allows neither.
 *
 *     base.ext4       the base
 *     base.json       {"file": URI of the image's root disk, "size", "mtime_s",
 *                     "mtime_ns": of the base}
 *
 * Disks of older versions have no base.ext4, and use the image's root disk.
 * vm_disk_base_check() adds it while that is still the same file.
 *
 * dir is the folder of the disk. The caller has checked that no other user can
 * write to it. On failure the functions return FALSE with
 * ERROR_VM_LAUNCH_FAILED. They read and copy files, and can block.
 */
#ifndef AGENT_VM_VM_DISK_BASE_H
#define AGENT_VM_VM_DISK_BASE_H

#include <glib.h>
#include <stdbool.h>

#define VM_DISK_BASE       "base.ext4"
#define VM_DISK_BASE_NEW   VM_DISK_BASE ".new" /* incomplete */
#define VM_DISK_BASE_NOTES "base.json"

/* Make the base of a new disk out of an image's root disk (an absolute path),
 * in place of an older one. The caller holds the disk's lock. */
gboolean vm_disk_base_make(const char *dir, const char *rootfs, GError **error);

/* Check that a disk's base is the one that the disk was made for. */
gboolean vm_disk_base_check(const char *dir, GError **error);

/* Add the base to a disk of an older version while the image's root disk is
 * still the one that it was made for. TRUE also if there is nothing to do. Two
 * processes can do it at once. */
gboolean vm_disk_base_keep(const char *dir, GError **error);

/* Return whether a disk's base is its image's present root disk, or a clone or
 * copy of that. */
bool vm_disk_base_is(const char *dir, const char *rootfs);

/* Return the path of the root disk that the base was made of, as a new string;
 * NULL: unknown. */
char *vm_disk_base_source(const char *dir);

#endif
