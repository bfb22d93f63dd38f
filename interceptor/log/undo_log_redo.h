/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_redo - the folders of inverse steps.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_REDO_H
#define INTERCEPTOR_LOG_UNDO_LOG_REDO_H

#include "interceptor/log/undo_log_base.h"

/* Return the seqs of the inverses, rising; borrowed, valid until the next
 * change. */
const int64_t *undo_log_redos(struct undo_log *log, size_t *ret_count);

/* Open redo/<seq>: the caller's fd, or -errno. */
int undo_log_open_redo(struct undo_log *log, int64_t seq);

/* Move wal/inverse to damaged/: it is unusable but may have the only copy of
 * something. Returns 0 or -errno. */
int undo_log_set_inverse_aside(struct undo_log *log);

/* Make wal/inverse with an empty blobs/; open it; remove it (0 also if there is
 * none). fds are the caller's. Return 0, or an fd, or -errno. */
int undo_log_create_inverse(struct undo_log *log, int *ret_dirfd);
int undo_log_open_inverse(struct undo_log *log);
int undo_log_drop_inverse(struct undo_log *log);

/* Rename wal/inverse to redo/<seq>, or to steps/<id>. */
int undo_log_keep_inverse(struct undo_log *log, int64_t seq);
int undo_log_commit_inverse(struct undo_log *log,
                            const struct undo_log_entry *entry);

/* Move redo/<seq> to wal/in_progress; move it back; finish wal/in_progress,
 * which was one; drop all of redo/. */
int undo_log_reopen_redo(struct undo_log *log, int64_t seq);
int undo_log_return_redo(struct undo_log *log, int64_t seq);
int undo_log_finish_redo(struct undo_log *log);
int undo_log_drop_redos(struct undo_log *log);

/* Move wal/inverse, if there is one, to dirfd/name, or to a name derived from
 * it if that exists. Returns 0 or -errno. */
int undo_log_move_inverse(struct undo_log *log, int dirfd, const char *name);

/* Read the folder redo/. */
int undo_log_find_redos(struct undo_log *log);

#endif
