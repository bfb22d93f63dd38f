/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_steps - the folders of steps in an undo log.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_STEPS_H
#define INTERCEPTOR_LOG_UNDO_LOG_STEPS_H

#include "interceptor/log/undo_log_base.h"

/* Make wal/in_progress with an empty blobs/. Its fd is the caller's. 0 or
 * -errno; -EEXIST if there is one. */
int undo_log_create_wal(struct undo_log *log, int *ret_dirfd);

/* wal/in_progress was made, and nothing is kept in it: remove it, without any
 * block of a disk that may be full. What fails is tried again by the next
 * undo_log_create_wal(). */
void undo_log_remove_begun(struct undo_log *log);

/* wal/in_progress becomes steps/<entry->id>; entry->copied is measured. */
int undo_log_commit(struct undo_log *log, const struct undo_log_entry *entry);

/* Measure anew what a committed step occupies, which becomes less when it is
 * compressed. index: in undo_log_entries(). */
void undo_log_measure(struct undo_log *log, size_t index);

/* Forget the oldest committed step: one rename, and then it is removed. The
 * step as it was (may be NULL). 0 or -errno; -ENOENT if there is none. */
int undo_log_evict(struct undo_log *log, struct undo_log_entry *ret_entry);

/* Bytes that are free for us on the log's filesystem, what is being removed
 * counted in, and the filesystem's size. 0 or -errno. */
int undo_log_free_bytes(struct undo_log *log, int64_t *ret_free,
                        int64_t *ret_total);

/* steps/<id>, opened: the caller's fd, or -errno. */
int undo_log_open_step(struct undo_log *log, int64_t id);

/* steps/<id> becomes wal/in_progress, to be rolled back. */
int undo_log_reopen(struct undo_log *log, int64_t id);

/* wal/in_progress cannot be undone, and is passed by: put it aside, as
 * damaged/<ret_name>, where it stays until all is discarded. */
int undo_log_set_aside(struct undo_log *log, int64_t id, int64_t seq,
                       struct undo_log_name *ret_name);

/* The same of a step that the history has already. */
int undo_log_move_aside(struct undo_log *log, struct undo_log_name *ret_name);

/* wal/in_progress is done with: note that the step is no more (unless it is
 * an empty one that is merely dropped: popped false), and remove it. */
int undo_log_discard_wal(struct undo_log *log, int64_t id, int64_t seq,
                         bool popped);

/* wal/<name> becomes steps/<entry->id>. */
int undo_log_commit_from(struct undo_log *log, const char *name,
                         const struct undo_log_entry *entry);

#endif
