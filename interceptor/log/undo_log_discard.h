/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_discard - forgetting everything, and what is put aside with its
 * inverse.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_DISCARD_H
#define INTERCEPTOR_LOG_UNDO_LOG_DISCARD_H

#include "interceptor/log/undo_log_base.h"

/* Forget everything, of whatever version; ids stay used. The steps of a log of
 * ours are forgotten one by one. Of another's, all that a log consists of is
 * moved away, each part by one rename, and the version is written last: killed
 * before, it is of another version still. Other files in the folder are not
 * touched; -EEXIST if there are some, for then it may be no log at all. 0 or
 * -errno. */
int undo_log_discard(struct undo_log *log);

/* Forget everything, also what is in wal/in_progress, half-way: what is kept of
 * that, and of its inverse, may be the only copy, and is put aside. 0 or
 * -errno; then it can be done again. */
int undo_log_give_up(struct undo_log *log, int64_t id, int64_t seq);

/* All of wal/in_progress is restored, and its inverse, which cannot be redone,
 * may have the only copy of something: that goes into the step's folder, which
 * records this at the same time. 0 or -errno. */
int undo_log_set_undone(struct undo_log *log);

/* dir: of wal/in_progress. 1 if all of it is restored and it only needs to be
 * put aside, 0, or -errno. */
int undo_log_is_undone(int dir);

/* With its inverse, if there is one: what that keeps may be the only copy. */
int undo_log_set_aside_whole(struct undo_log *log, int64_t id, int64_t seq,
                             struct undo_log_name *ret_name);

#endif
