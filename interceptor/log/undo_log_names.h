/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_names - the names of a log's parts.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_NAMES_H
#define INTERCEPTOR_LOG_UNDO_LOG_NAMES_H

#include "interceptor/log/undo_log_base.h"

#define UNDO_LOG_MARKER    ".git" /* undo_log_hide.c */
#define UNDO_LOG_DISCARDED "discarded"
#define UNDO_LOG_DAMAGED   "damaged"

/* The parts in the order in which a discard moves them; NULL at the end. */
extern const char *const undo_log_part_names[];

/* Return -EEXIST if the log's folder holds entries that no log has: a folder
 * with a file "version" need not be a log. Else 0 or -errno. */
int undo_log_check_names(struct undo_log *log);

#endif
