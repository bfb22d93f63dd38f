/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_alias - inodes that undo had to make anew have other numbers.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_ALIAS_H
#define INTERCEPTOR_LOG_UNDO_LOG_ALIAS_H

#include <jansson.h>

#include "interceptor/log/undo_log_base.h"

struct journal;
struct own_state;

/* Taking back step seq, an inode had to be made anew. */
struct undo_log_remade {
    uint64_t from, to; /* its numbers, which may be equal */
    int64_t seq;
    int64_t born, made; /* birth.h: of the one, of the other */
};

int undo_log_add_alias(struct undo_log *log,
                       const struct undo_log_remade *remade);

/* A step_alias(). *ret_born: when undo made it, INT64_MAX if nobody knows; 0:
 * it is still the same inode. */
uint64_t undo_log_alias(const struct own_state *then, int64_t seq,
                        int64_t *ret_born, void *log);

/* ---- for the files of undo_log ------------------------------------------- */

/* The aliases' part of that: no alias yet, a record that was read, and all that
 * any step needs in the order in which they were noted. 0 or -errno. */
void undo_log_begin_aliases(struct undo_log *log);
void undo_log_forget_aliases(struct undo_log *log);
void undo_log_read_alias(struct undo_log *log, json_t *record);
int undo_log_write_aliases(struct undo_log *log, struct journal *journal);

#endif
