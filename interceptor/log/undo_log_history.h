/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_history - history.jsonl: notes about steps, and barriers.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_HISTORY_H
#define INTERCEPTOR_LOG_UNDO_LOG_HISTORY_H

#include "interceptor/log/undo_log_base.h"

struct ic_barrier;
struct overlap;

/* Write the history anew, without what no step needs any more, if it has become
 * long. Not while a rollback is unfinished, which needs its aliases. */
void undo_log_maybe_compact(struct undo_log *log);

/* Barriers, oldest first: struct ic_barrier, borrowed. Those that no step is
 * before may be among them. */
GPtrArray *undo_log_barriers(struct undo_log *log);

/* Give a barrier (taken) its place, at the end, and note it. 0 or -errno; it
 * counts in any case. */
int undo_log_add_barrier(struct undo_log *log, struct ic_barrier *barrier);

/* The step with this seq is being taken back in spite of the barriers above it:
 * those that overlap with it do not count any more. */
int undo_log_cross_barriers(struct undo_log *log, int64_t seq,
                            const struct overlap *overlap);

/* ---- for the files of undo_log ------------------------------------------- */

/* Open history.jsonl and read it. 0 or -errno. */
int undo_log_open_history(struct undo_log *log, bool *ret_damaged);
void undo_log_close_history(struct undo_log *log);

/* Write history.jsonl anew without what no step needs any more. 0 or -errno,
 * and it is as it was. */
int undo_log_compact_history(struct undo_log *log);

/* Note what became of a step: "done" or "popped". If that fails, which ids and
 * seqs are used up is noted before the next note. */
int undo_log_append_history(struct undo_log *log, const char *type, int64_t id,
                            int64_t seq);

#endif
