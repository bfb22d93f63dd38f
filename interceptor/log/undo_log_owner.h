/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_owner - the process that holds the log's lock.
 *
 * The lock file says how often its owner reports that it is alive; its mtime,
 * or "alive_us", says when it last did. Recovery of an interrupted step or
 * rollback uses it to recognise later edits by other processes.
 *
 * Threads: all calls under the engine's locks, except undo_log_beat().
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_OWNER_H
#define INTERCEPTOR_LOG_UNDO_LOG_OWNER_H

#include "interceptor/log/undo_log_base.h"

/* Interval between calls of undo_log_beat() during a rollback. */
enum { UNDO_LOG_BEAT_MS = 500 };

/* wal/in_progress no longer holds anything of another owner. beat_ms: interval
 * of undo_log_beat() while a step is open; 0: never. */
void undo_log_take_over(struct undo_log *log, unsigned beat_ms);

/* Report that the owner of an open step or of a rollback is alive: at its
 * start, and at the recorded interval. Any thread. */
void undo_log_beat(struct undo_log *log);

/* From now on wal/in_progress is this process's. */
void undo_log_begin_ownership(struct undo_log *log);

/* The same for a rollback or redo that is about to begin: restore_run() then
 * beats even if open steps have no beat. */
void undo_log_begin_rollback(struct undo_log *log);

/* Recovery is about to finish what an earlier process left. If no time is known
 * for that process, count from this one. */
void undo_log_inherit(struct undo_log *log);

/* Return when the owner of wal/in_progress (as found when the log was opened)
 * was certainly gone: microseconds since the epoch, by the kernel's clock for
 * files. INT64_MAX: unknown, or it is not gone. */
int64_t undo_log_owner_gone(const struct undo_log *log);

/* Return the time from which on a change may be another process's: shortly
 * before the owner was last known to be alive. Same clock; INT64_MAX: as above.
 */
int64_t undo_log_owner_doubt(const struct undo_log *log);

/* ---- for the files of undo_log ------------------------------------------- */

/* Return a value that the lock's owner has recorded; 0: none. */
int64_t undo_log_read_owner(struct undo_log *log, const char *key);

/* Return whether the lock's owner is alive and has a control socket: it will
 * keep the lock, and clients can ask it. One without, such as a command that
 * prints the history, or one that has not recorded itself yet, may be brief. */
bool undo_log_owner_serves(struct undo_log *log);

/* Determine when the former owner was gone, before the lock file is written. */
void undo_log_note_owner_gone(struct undo_log *log);

/* Write the lock file. alive_us: when the owner of the unfinished step was last
 * alive; 0: the file's mtime says so. */
void undo_log_note_owner(struct undo_log *log, int64_t beat_ms,
                         int64_t alive_us);

/* The same, until the unfinished step is done. */
void undo_log_note_heir(struct undo_log *log);

#endif
