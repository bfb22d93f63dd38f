/* SPDX-License-Identifier: Apache-2.0
 *
 * overlay_collect - removes the rows of the overlay that are no longer
 * referenced.
 *
 * A row may be needed as long as an inode refers to it, or an undo or redo of
 * any step may restore such a reference: from an attribute in its record, or
 * with an inode that it keeps. So the collection scans the share and its log:
 * the reference of each inode, and every string that looks like one in the
 * log's records (interceptor/log/meta.h describes the encoding of attributes).
 *
 * It runs at the start, if there are many rows, and twice as many as were
 * needed last time. The engine has recovered by then and is idle, so references
 * do not move; except when another program on the host moves a directory from
 * an unscanned to a scanned place. So a row is removed only when two
 * consecutive starts have found no reference.
 *
 * An unreadable part (no permission, too many levels, a log of another version)
 * may contain references: then no row is removed. Nor if references may be
 * elsewhere: the overlay is at an explicit path (--overlay-dir), which another
 * log may use, or it has served another share.
 */
#ifndef P9_OVERLAY_OVERLAY_COLLECT_H
#define P9_OVERLAY_OVERLAY_COLLECT_H

#include "p9/overlay/overlay.h"

/* Collect unused rows. share_fd, which may be O_PATH, and undo_dir are
 * borrowed. */
void overlay_collect(struct overlay *overlay, int share_fd,
                     const char *undo_dir);

#endif
