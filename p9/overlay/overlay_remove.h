/* SPDX-License-Identifier: Apache-2.0
 *
 * overlay_remove - remove unneeded rows (O4 in overlay.h).
 *
 * Runs only at the start, before any client connects, so it takes no lock.
 */
#ifndef P9_OVERLAY_OVERLAY_REMOVE_H
#define P9_OVERLAY_OVERLAY_REMOVE_H

#include "p9/overlay/overlay_table.h"

/* Record that files of this share (by its root's inode number) refer to rows.
 * Return false if files of another share do, too. */
bool overlay_is_of(struct overlay *overlay, ino_t root);

/* Return whether there are many more rows than were needed at the last check.
 */
bool overlay_has_grown(struct overlay *overlay);

/* Remove the rows that are neither in needed, a set of int64_t *, nor in the
 * last such set. Return 0, or -EIO, in which case nothing is removed. */
int overlay_remove_unneeded(struct overlay *overlay, GHashTable *needed,
                            unsigned *ret_removed);

#endif
