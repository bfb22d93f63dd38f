/* SPDX-License-Identifier: Apache-2.0
 *
 * overlay_remove - rows that nothing needs any more go (O4 in overlay.h).
 *
 * It runs at the start alone, before there is a client, so no lock is taken.
 */
#ifndef P9_OVERLAY_OVERLAY_REMOVE_H
#define P9_OVERLAY_OVERLAY_REMOVE_H

#include "p9/overlay/overlay_table.h"

/* Note that this share's files (by its root's number) refer to rows. False:
 * another share's do, too. */
bool overlay_is_of(struct overlay *overlay, ino_t root);

/* Are there so many more rows than were needed when that was last seen? */
bool overlay_has_grown(struct overlay *overlay);

/* needed: a set of int64_t *, numbers. Remove what was not in the last such set
 * either. 0, or -EIO, and then nothing is removed. */
int overlay_remove_unneeded(struct overlay *overlay, GHashTable *needed,
                            unsigned *ret_removed);

#endif
