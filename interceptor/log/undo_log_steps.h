/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_steps - the folders of steps in an undo log.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_STEPS_H
#define INTERCEPTOR_LOG_UNDO_LOG_STEPS_H

#include "interceptor/log/undo_log_base.h"

/* Make wal/in_progress with an empty blobs/. The fd is the caller's. Returns 0
 * or -errno; -EEXIST if there is one. */
int undo_log_create_wal(struct undo_log *log, int *ret_dirfd);

/* Remove a new wal/in_progress that holds nothing, without using a block on a
 * full disk. The next undo_log_create_wal() retries what fails. */
void undo_log_remove_begun(struct undo_log *log);

/* Rename wal/in_progress to steps/<entry->id> and measure entry->copied. */
int undo_log_commit(struct undo_log *log, const struct undo_log_entry *entry);

/* Measure again what a committed step occupies, since compression shrinks it.
 * index: in undo_log_entries(). */
void undo_log_measure(struct undo_log *log, size_t index);

/* Evict the oldest committed step: rename it, then remove it. ret_entry (may be
 * NULL): the step as it was. Returns 0 or -errno; -ENOENT if there is none. */
int undo_log_evict(struct undo_log *log, struct undo_log_entry *ret_entry);

/* Return the free bytes on the log's filesystem, with those still being removed
 * counted as free, and the filesystem's size. 0 or -errno. */
int undo_log_free_bytes(struct undo_log *log, int64_t *ret_free,
                        int64_t *ret_total);

/* Open steps/<id>: the caller's fd, or -errno. */
int undo_log_open_step(struct undo_log *log, int64_t id);

/* Move steps/<id> to wal/in_progress for a rollback. */
int undo_log_reopen(struct undo_log *log, int64_t id);

/* Move wal/in_progress, which cannot be undone, to damaged/<ret_name>, where it
 * stays until all is discarded. */
int undo_log_set_aside(struct undo_log *log, int64_t id, int64_t seq,
                       struct undo_log_name *ret_name);

/* The same for a step that the history already has. */
int undo_log_move_aside(struct undo_log *log, struct undo_log_name *ret_name);

/* Finish wal/in_progress: record that the step is gone (popped false: it was
 * empty and is merely dropped), and remove it. */
int undo_log_discard_wal(struct undo_log *log, int64_t id, int64_t seq,
                         bool popped);

/* Rename wal/<name> to steps/<entry->id>. */
int undo_log_commit_from(struct undo_log *log, const char *name,
                         const struct undo_log_entry *entry);

#endif
