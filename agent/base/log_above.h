/* SPDX-License-Identifier: Apache-2.0
 *
 * log_above - find the undo log of a parent folder, as git(1) finds its
 * repository.
 *
 * The search ends at the root, at another filesystem, which no parent's log
 * covers, and at a log of another user, whose steps the caller may neither see
 * nor undo.
 */
#ifndef AGENT_BASE_LOG_ABOVE_H
#define AGENT_BASE_LOG_ABOVE_H

#include <stdbool.h>

enum log_owner { LOG_NONE, LOG_OURS, LOG_FOREIGN };

/* Return the nearest parent folder of dir with a log, and its owner: a new
 * string, or NULL. */
char *log_above_find(const char *dir, enum log_owner *ret_owner);

/* Return the nearest parent folder of dir whose log at the default path belongs
 * to the user: a new string, or NULL. */
char *log_above_find_ours(const char *dir);

/* Return whether the folder has a log at the default path, of any user. */
bool log_above_is_at(const char *dir);

#endif
