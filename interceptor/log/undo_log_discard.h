/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_discard - discard a log, or put a step aside with its inverse.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_DISCARD_H
#define INTERCEPTOR_LOG_UNDO_LOG_DISCARD_H

#include "interceptor/log/undo_log_base.h"

/* Discard all steps of a log of any version; ids stay used. In the current
 * version, the steps are evicted one by one. In another version, all parts are
 * moved away, each by one rename, and the version is written last: after a kill
 * the log still has the other version. Other files in the folder are not
 * touched; -EEXIST if there are some, since it may not be a log at all. Returns
 * 0 or -errno. */
int undo_log_discard(struct undo_log *log);

/* Discard all steps, and wal/in_progress half-way: its content and its
 * inverse's may be the only copy, so both are put aside. Returns 0 or -errno;
 * on error the call can be repeated. */
int undo_log_give_up(struct undo_log *log, int64_t id, int64_t seq);

/* All of wal/in_progress is restored, but its inverse, which cannot be redone,
 * may have the only copy of something. Move the inverse into the step's folder,
 * which also records this state. Returns 0 or -errno. */
int undo_log_set_undone(struct undo_log *log);

/* dir: of wal/in_progress. Returns 1 if all of it is restored and it only needs
 * to be put aside, 0, or -errno. */
int undo_log_is_undone(int dir);

/* As undo_log_set_aside(), with the inverse, if any: it may have the only copy.
 */
int undo_log_set_aside_whole(struct undo_log *log, int64_t id, int64_t seq,
                             struct undo_log_name *ret_name);

#endif
