/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_names - what a log consists of.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_NAMES_H
#define INTERCEPTOR_LOG_UNDO_LOG_NAMES_H

#include "interceptor/log/undo_log_base.h"

#define UNDO_LOG_MARKER    ".git" /* undo_log_hide.c */
#define UNDO_LOG_DISCARDED "discarded"

/* The parts in the order in which they go; NULL at the end. */
extern const char *const undo_log_part_names[];

/* -EEXIST if the log's folder holds what belongs to no log: a folder with a
 * file "version" in it need not be one. 0 or -errno. */
int undo_log_check_names(struct undo_log *log);

#endif
