/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_trash - what is being removed, and room that is kept.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_TRASH_H
#define INTERCEPTOR_LOG_UNDO_LOG_TRASH_H

#include "interceptor/log/undo_log_base.h"

/* What is done with is moved to wal/trash, and small things are removed there
 * at once. The rest, which may be a million files, is left to a thread.
 *
 * Called, by any thread, for each inode that is about to leave the log, as
 * i<ino> in blobs, or as a link of another name, then blobs is -1. If it says
 * -errno, that stays until another time. */
void undo_log_on_forget(struct undo_log *log,
                        int (*forget)(int blobs, uint64_t ino, void *opaque),
                        void *opaque);

/* A start: remove what an earlier process left in wal/trash. */
void undo_log_empty_trash(struct undo_log *log);

/* Wait until nothing is left to be removed. */
void undo_log_drain_trash(struct undo_log *log);

/* The blobs folder of each thing in wal/trash, opened for the callback, which
 * returns 0 or -errno. 0 or -errno: some were not visited. */
int undo_log_each_trash(struct undo_log *log,
                        int (*each)(int blobs, void *opaque), void *opaque);

/* Drop the blobs folder of wal/in_progress, which occupies about so many
 * bytes. 0 or -errno. */
int undo_log_drop_blobs(struct undo_log *log, int64_t bytes);

/* Some room kept for bad times: a step that fills the disk could not be taken
 * back if that needed a block. Give it up before a rollback, take it again
 * after it. */
bool undo_log_release_reserve(struct undo_log *log); /* was there any? */
void undo_log_take_reserve(struct undo_log *log);    /* and a spare folder */

/* Move the spare folder to dirfd/name: 0, -ENOENT if there is none, or
 * -errno. */
int undo_log_give_spare(struct undo_log *log, int dirfd, const char *name);

/* ---- for the files of undo_log ------------------------------------------- */

/* The trash's part of a log. Freeing it ends its thread; what is not removed
 * yet stays for the next start. */
struct trash *undo_log_trash_new(void);
void undo_log_trash_free(struct trash *trash);

/* Rename a step's folder into wal/trash, to be removed. bytes: about what it
 * occupies. 0 or -errno of the rename. */
int undo_log_move_to_trash(struct undo_log *log, int dirfd, const char *name,
                           int64_t bytes);

/* At the start, before anything of the trash is removed: inodes of the share
 * may have links in it (own.h). */
void undo_log_drop_links(struct undo_log *log);
/* A whole log waits in discarded/: it goes to the trash, too. */
int undo_log_trash_discarded(struct undo_log *log);

/* The bytes of what waits in wal/trash. */
int64_t undo_log_trash_bytes(const struct undo_log *log);

#endif
