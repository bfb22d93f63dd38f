/* SPDX-License-Identifier: Apache-2.0
 *
 * overlay - metadata that the host's files cannot have, in a database beside
 * the share.
 *
 * A file system like NTFS has no mode bits, no owners as POSIX knows them, and
 * symlinks only for the privileged. What a client sets is kept in a database
 * (SQLite) in a folder of its own outside the share: rows, each of which is one
 * set of metadata. A file says by which row it goes in a *reference*, an
 * extended attribute of 16 bytes:
 *
 *     user.stepback.overlay    0  8  the database's number (random)
 *                              8  8  the row's number        both little-endian
 *
 * A file without one, or with one of another database, has the defaults that
 * the profile makes up.
 *
 * O1  A row never changes. Other metadata is another row, and equal metadata is
 *     the same row.
 * O2  A row is in the database, and on the disk, before a reference to it is
 *     made.
 * O3  A reference is set and removed through the undo engine, like any change
 *     of an inode.
 * O4  A row is removed only when neither the share nor the log has had a
 *     reference to it at two starts (overlay_collect.h); and the newest never,
 *     so that no number is given twice.
 *
 * So undo needs nothing of its own here. What the engine takes back, in a step,
 * an abort, a redo or a recovery, it takes back with the reference, and the
 * row that the old reference names is still what it was. Killed before the
 * reference is set, there is a row that nothing names; after it, the change is
 * made. There is no moment between, and so no journal. Who undoes with the log
 * alone, as the command line does where no server runs, undoes this as well.
 *
 * Why not rows that are found by a path or by an inode's number: a path must
 * follow each rename of each folder above it, in one act with it, and has two
 * answers for a file of two links; a number is another one after the engine has
 * made a file anew from a copy, and may be given to another file at once. A
 * reference goes wherever its inode goes, through renames, exchanges, links,
 * deletion with an open handle, and the undo of all these. It is also copied by
 * who copies a file whole (cp -a), which O1 makes right.
 *
 * What it costs: the share's file system must keep user attributes, and a
 * program on the host that writes a file anew under its name drops the
 * reference with the old inode. There are few rows, as there are few sets of
 * metadata: they are all in memory, and to look one up reads no database.
 *
 * Threads: every call by any thread, but overlay_open() and overlay_close().
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

/* The database in this folder, made if it is missing. Nobody else may use it
 * meanwhile. NULL and error: ERROR_BUSY, ERROR_IO_ERROR. */
struct overlay *overlay_open(const char *dir, GError **error);
void overlay_close(struct overlay *overlay);

/* The number of the row that a reference (of so many bytes) names, whether
 * there is that row or not. False: it is of another database. And the
 * reference. */
bool overlay_read_reference(const struct overlay *overlay,
                            const void *reference, size_t size,
                            int64_t *ret_id);
struct overlay_reference overlay_make_reference(const struct overlay *overlay,
                                                int64_t id);

/* The row that a reference (of so many bytes) names. False: none of ours. */
bool overlay_find(struct overlay *overlay, const void *reference, size_t size,
                  struct overlay_row *ret_row);

/* The reference of a row, which is made if there is none. 0; -ENOSPC: there are
 * too many, or the disk is full; -EIO. */
int overlay_refer(struct overlay *overlay, const struct overlay_row *row,
                  struct overlay_reference *ret_reference);

/* Is any row one with set-id bits, or a symlink's? While none is, no file is,
 * and none needs to be asked. */
bool overlay_has_set_ids(struct overlay *overlay);
bool overlay_has_symlinks(struct overlay *overlay);

#endif
