/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_owner - the process that has the log's lock.
 *
 * The lock file says how often its owner tells that it is alive, and its mtime,
 * or "alive_us", when that was last. What finishes an interrupted step or
 * rollback tells by it what other processes have changed since.
 *
 * Threads: all calls under the engine's locks, but undo_log_beat().
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_OWNER_H
#define INTERCEPTOR_LOG_UNDO_LOG_OWNER_H

#include "interceptor/log/undo_log_base.h"

/* While a step is taken back: between two calls of undo_log_beat(). */
enum { UNDO_LOG_BEAT_MS = 500 };

/* Nothing is in wal/in_progress any more that another owner has left. beat_ms:
 * how often undo_log_beat() will be called while a step is open; 0: never. */
void undo_log_take_over(struct undo_log *log, unsigned beat_ms);

/* A step is open or is being taken back, and its owner alive: when it begins,
 * and as often as was noted. Any thread. */
void undo_log_beat(struct undo_log *log);

/* What is in wal/in_progress from here on is this process's. */
void undo_log_begin_ownership(struct undo_log *log);

/* The same for what is about to be taken back or redone: restore_run() beats
 * then even where nothing does so for an open step. */
void undo_log_begin_rollback(struct undo_log *log);

/* What an earlier process has left there is about to be finished. If nothing
 * tells when that process was alive, this one does from here on. */
void undo_log_inherit(struct undo_log *log);

/* When the owner of what is in wal/in_progress since the log was opened was
 * gone for certain: microseconds since the epoch, by the kernel's clock for
 * files. INT64_MAX: not known, or it is not gone. */
int64_t undo_log_owner_gone(const struct undo_log *log);

/* From when on what was changed may be another process's work: some time before
 * the owner was last known to live. The same clock; INT64_MAX: as above. */
int64_t undo_log_owner_doubt(const struct undo_log *log);

/* ---- for the files of undo_log ------------------------------------------- */

/* What the process that has the lock has noted; 0: nothing. */
int64_t undo_log_read_owner(struct undo_log *log, const char *key);

/* Read when the former owner was gone, before the lock file is written. */
void undo_log_note_owner_gone(struct undo_log *log);

/* Write the lock file. alive_us: when the owner of what is unfinished was last
 * alive; 0: the file's mtime says it. */
void undo_log_note_owner(struct undo_log *log, int64_t beat_ms,
                         int64_t alive_us);

/* The same until what is unfinished is done. */
void undo_log_note_heir(struct undo_log *log);

#endif
