/* SPDX-License-Identifier: Apache-2.0
 *
 * log_above - find the undo log of a folder above, as git(1) finds its
 * repository.
 *
 * The way up ends at the root, at another filesystem, which no log above
 * covers, and at a log that is another user's: that one's steps are not the
 * caller's to see or to undo.
 */
#ifndef AGENT_CLI_LOG_ABOVE_H
#define AGENT_CLI_LOG_ABOVE_H

#include <stdbool.h>

enum log_owner { LOG_NONE, LOG_OURS, LOG_FOREIGN };

/* The nearest folder above dir with a log, and whose that is: a new string, or
 * NULL. */
char *log_above_find(const char *dir, enum log_owner *ret_owner);

/* The nearest folder above dir that has a log of the user's at its default
 * place: a new string, or NULL. */
char *log_above_find_ours(const char *dir);

/* Return whether the folder has a log at the default path, of any user. */
bool log_above_is_at(const char *dir);

#endif
