/* SPDX-License-Identifier: Apache-2.0
 *
 * dir_scan - the names in a folder, without opendir(3), which allocates.
 */
#ifndef SHIM_DIR_SCAN_H
#define SHIM_DIR_SCAN_H

#include <stdbool.h>

/* Call visit for each name but "." and "..", until it returns false. 0 or
 * -errno of opening or reading the folder. */
int dir_scan(const char *path, bool (*visit)(const char *name, void *opaque),
             void *opaque);

/* Read a small file (of /proc, /sys) whole into room and end it by a NUL.
 * Bytes read or -errno; what does not fit is cut off. */
int dir_scan_read_file(const char *path, char *room, int size);

#endif
