/* SPDX-License-Identifier: Apache-2.0
 *
 * log_place - the default place of a folder's undo log.
 */
#ifndef AGENT_BASE_LOG_PLACE_H
#define AGENT_BASE_LOG_PLACE_H

#include <glib.h>

/* Return the log's path: undo_dir if it is given, else ic_default_undo_dir().
 * That lies beside the folder, where it may have come with the content of the
 * folder above, so it must be no symbolic link, which could lead to another
 * folder's log, and belong to the caller, even if that is root. A new string;
 * NULL and error (ERROR_INVALID_DIRECTORY). */
char *log_place_of(const char *folder, const char *undo_dir, GError **error);

/* Return the folder .stepback of a log at this default path, or NULL if the log
 * is not beside its folder: a new string. */
char *log_place_top(const char *log);

/* Return the folder with the logs of the folders in dir, a new string, or NULL
 * if there is none. No symbolic link is followed to it. */
char *log_place_logs(const char *dir);

#endif
