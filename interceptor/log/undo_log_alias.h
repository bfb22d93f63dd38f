/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_alias - new numbers of the inodes that undo had to recreate.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_ALIAS_H
#define INTERCEPTOR_LOG_UNDO_LOG_ALIAS_H

#include <jansson.h>

#include "interceptor/log/undo_log_base.h"

struct journal;
struct ctime_state;

/* The rollback of step seq had to recreate an inode. */
struct undo_log_remade {
    uint64_t from, to; /* old and new number, possibly equal */
    int64_t seq;
    int64_t born, made; /* btimes of the old and the new inode (btime.h) */
};

int undo_log_add_alias(struct undo_log *log,
                       const struct undo_log_remade *remade);

/* A step_alias(). *ret_born: when undo recreated it, INT64_MAX if unknown; 0:
 * it is still the same inode. */
uint64_t undo_log_alias(const struct ctime_state *then, int64_t seq,
                        int64_t *ret_born, void *log);

/* ---- for the files of undo_log ------------------------------------------- */

/* The aliases of a log: start with none, add one from a record, and write all
 * that any step needs, in the order in which they were recorded. 0 or -errno.
 */
void undo_log_begin_aliases(struct undo_log *log);
void undo_log_forget_aliases(struct undo_log *log);
void undo_log_read_alias(struct undo_log *log, json_t *record);
int undo_log_write_aliases(struct undo_log *log, struct journal *journal);

#endif
