/* SPDX-License-Identifier: Apache-2.0
 *
 * overlay - metadata that the host's files cannot have, in a database beside
 * the share.
 *
 * A file system like NTFS has no mode bits and no POSIX owners, and restricts
 * symlinks to privileged users. The metadata that a client sets is stored in an
 * SQLite database in a directory outside the share: each row is one set of
 * metadata. A file names its row by a *reference*, an extended attribute of 16
 * bytes:
 *
 *     user.stepback.overlay    0  8  the database's number (random)
 *                              8  8  the row's number        both little-endian
 *
 * A file without a reference, or with one to another database, has the
 * profile's defaults.
 *
 * O1  A row never changes. Other metadata is another row, and equal metadata is
 *     the same row.
 * O2  A row is in the database, and on disk, before a reference to it is made.
 * O3  A reference is set and removed through the undo engine, like any change
 *     of an inode.
 * O4  A row is removed only when neither the share nor the log has had a
 *     reference to it at two consecutive starts (overlay_collect.h); the newest
 *     row is never removed, so that no number is reused.
 *
 * So undo needs no code here. When the engine rolls back a reference, in a
 * step, an abort, a redo or a recovery, the row that the old reference names is
 * unchanged. A crash before the reference is set leaves an unreferenced row;
 * after it, the change is complete. There is no state in between, hence no
 * journal. An undo with the log alone, as by the command line without a running
 * server, undoes this metadata, too.
 *
 * Rows are not keyed by path or inode number: a path would have to follow each
 * rename of each parent atomically, and is ambiguous for a file with two links;
 * an inode number changes when the engine restores a file from a copy, and may
 * be reused at once. A reference follows its inode through renames, exchanges,
 * links, deletion with an open handle, and the undo of all these. cp -a copies
 * it, too, which is correct because of O1.
 *
 * Costs: the share's file system must support user attributes, and a program on
 * the host that replaces a file under its name drops the reference with the old
 * inode. There are few rows, as there are few sets of metadata: all are in
 * memory, and a lookup does not read the database.
 *
 * Threads: any thread may make any call, except overlay_open() and
 * overlay_close().
 */
#ifndef P9_OVERLAY_OVERLAY_H
#define P9_OVERLAY_OVERLAY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "p9/overlay/overlay_table.h"

#define OVERLAY_XATTR "user.stepback.overlay"

struct overlay_reference {
    uint8_t bytes[OVERLAY_REFERENCE_SIZE];
};

/* Open the database in this directory, created if missing, for exclusive use.
 * Return NULL and error: ERROR_BUSY, ERROR_IO_ERROR. */
struct overlay *overlay_open(const char *dir, GError **error);
void overlay_close(struct overlay *overlay);

/* overlay_read_reference() returns the number of the row that a reference of
 * size bytes names, whether the row exists or not; false if it belongs to
 * another database. overlay_make_reference() is the inverse. */
bool overlay_read_reference(const struct overlay *overlay,
                            const void *reference, size_t size,
                            int64_t *ret_id);
struct overlay_reference overlay_make_reference(const struct overlay *overlay,
                                                int64_t id);

/* Find the row that a reference of size bytes names. Return false if there is
 * none. */
bool overlay_find(struct overlay *overlay, const void *reference, size_t size,
                  struct overlay_row *ret_row);

/* Make a reference to a row, which is created if missing. Return 0, -ENOSPC if
 * there are too many rows or the disk is full, or -EIO. */
int overlay_refer(struct overlay *overlay, const struct overlay_row *row,
                  struct overlay_reference *ret_reference);

/* Return whether any row has set-id bits, or is a symlink. If not, no file has
 * them, and files need not be checked. */
bool overlay_has_set_ids(struct overlay *overlay);
bool overlay_has_symlinks(struct overlay *overlay);

#endif
