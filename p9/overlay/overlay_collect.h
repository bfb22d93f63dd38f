/* SPDX-License-Identifier: Apache-2.0
 *
 * overlay_collect - removes the rows of the overlay that nothing refers to.
 *
 * A row may be needed as long as an inode refers to it, or as any step, or
 * redo, may make one do so: by an attribute that its record has, or with an
 * inode that it holds. So what is below the share and below its log is looked
 * at: the reference of each inode, and whatever looks like one in the log's
 * records (interceptor/log/meta.h says how they write attributes).
 *
 * That is done at the start, when there are many rows, and twice as many as
 * were needed the last time. The engine has recovered by then and nobody asks
 * it for anything, so references move nowhere; except by other programs of the
 * host, that move a folder from where it was not looked at yet to where it was.
 * So a row goes only when two starts, one after the other, have found no
 * reference.
 *
 * What cannot be looked at (no right to read it, a tree of too many levels, a
 * log of another version) may have references: then no row goes. Neither where
 * others may have them: the overlay is at a place of its own (--overlay-dir),
 * which another log may use, or it has served another share.
 */
#ifndef P9_OVERLAY_OVERLAY_COLLECT_H
#define P9_OVERLAY_OVERLAY_COLLECT_H

#include "p9/overlay/overlay.h"

/* share_fd, which may be O_PATH, and undo_dir are borrowed. */
void overlay_collect(struct overlay *overlay, int share_fd,
                     const char *undo_dir);

#endif
