/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_history - history.jsonl: notes about steps, and barriers.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_HISTORY_H
#define INTERCEPTOR_LOG_UNDO_LOG_HISTORY_H

#include "interceptor/log/undo_log_base.h"

struct ic_barrier;
struct overlap;

/* Rewrite the history without the notes that no step needs, if it has grown
 * long. Not during an unfinished rollback, which needs its aliases. */
void undo_log_maybe_compact(struct undo_log *log);

/* Return the barriers, oldest first: struct ic_barrier, borrowed. Some may have
 * no step before them. */
GPtrArray *undo_log_barriers(struct undo_log *log);

/* Append a barrier (ownership taken) and record it. Returns 0 or -errno; the
 * barrier counts in any case. */
int undo_log_add_barrier(struct undo_log *log, struct ic_barrier *barrier);

/* Drop the barriers above seq that overlap the step with this seq, which is
 * being rolled back in spite of them. */
int undo_log_cross_barriers(struct undo_log *log, int64_t seq,
                            const struct overlap *overlap);

/* ---- for the files of undo_log ------------------------------------------- */

/* Open history.jsonl and read it. Returns 0 or -errno. */
int undo_log_open_history(struct undo_log *log, bool *ret_damaged);
void undo_log_close_history(struct undo_log *log);

/* Rewrite history.jsonl without the notes that no step needs. Returns 0, or
 * -errno with the file unchanged. */
int undo_log_compact_history(struct undo_log *log);

/* Record the end of a step: "done" or "popped". If that fails, the next note is
 * preceded by one of the used ids and seqs. */
int undo_log_append_history(struct undo_log *log, const char *type, int64_t id,
                            int64_t seq);

#endif
