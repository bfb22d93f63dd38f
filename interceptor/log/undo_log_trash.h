/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_trash - removal of old data, and a reserve of disk room.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_TRASH_H
#define INTERCEPTOR_LOG_UNDO_LOG_TRASH_H

#include "interceptor/log/undo_log_base.h"

/* Set the callback for inodes that leave the log. Data to remove is moved to
 * wal/trash; small things are removed at once, the rest, which may be a million
 * files, by a thread.
 *
 * The callback runs in any thread, for each inode about to leave the log, as
 * i<ino> in blobs, or as a link of another name (blobs -1). If it returns
 * -errno, the inode stays until another try. */
void undo_log_on_forget(struct undo_log *log,
                        int (*forget)(int blobs, uint64_t ino, void *opaque),
                        void *opaque);

/* At a start: remove what an earlier process left in wal/trash. */
void undo_log_empty_trash(struct undo_log *log);

/* Wait until nothing is left to be removed. */
void undo_log_drain_trash(struct undo_log *log);

/* Open the blobs folder of each entry of wal/trash for the callback, which
 * returns 0 or -errno. Returns 0, or -errno if some were not visited. */
int undo_log_each_trash(struct undo_log *log,
                        int (*each)(int blobs, void *opaque), void *opaque);

/* The same for damaged/. */
int undo_log_each_damaged(struct undo_log *log,
                          int (*each)(int blobs, void *opaque), void *opaque);

/* Drop the blobs folder of wal/in_progress, which occupies about this many
 * bytes. Returns 0 or -errno. */
int undo_log_drop_blobs(struct undo_log *log, int64_t bytes);

/* Release and take a reserve of room: without it, a step that fills the disk
 * could not be rolled back if the rollback needs a block. Release it before a
 * rollback, take it again afterwards. */
bool undo_log_release_reserve(struct undo_log *log); /* true: there was one */
void undo_log_take_reserve(struct undo_log *log);    /* makes spare/, too */

/* Move the spare folder to dirfd/name. Returns 0, -ENOENT if there is none, or
 * -errno. */
int undo_log_give_spare(struct undo_log *log, int dirfd, const char *name);

/* ---- for the files of undo_log ------------------------------------------- */

/* Make and free the trash of a log. Freeing it ends the thread; the next start
 * removes what is left. */
struct trash *undo_log_trash_new(void);
void undo_log_trash_free(struct trash *trash);

/* Rename a step's folder into wal/trash for removal. bytes: its approximate
 * size. Returns 0, or -errno of the rename. */
int undo_log_move_to_trash(struct undo_log *log, int dirfd, const char *name,
                           int64_t bytes);

/* Run at the start, before anything in the trash is removed: inodes of the
 * share may have links in it (ctime_ledger.h). */
void undo_log_drop_links(struct undo_log *log);
/* Move a discarded log in discarded/ to the trash. */
int undo_log_trash_discarded(struct undo_log *log);

/* Move each step in damaged/ to the trash, so that its inodes are forgotten. */
int undo_log_trash_damaged(struct undo_log *log);

/* Return the bytes waiting in wal/trash. */
int64_t undo_log_trash_bytes(const struct undo_log *log);

#endif
