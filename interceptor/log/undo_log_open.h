/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_open - open and close an undo log.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_OPEN_H
#define INTERCEPTOR_LOG_UNDO_LOG_OPEN_H

#include "interceptor/log/undo_log_base.h"

/* Open or make the log at path and lock it. socket (may be NULL) is written
 * into the lock file, except with look while a step lies in wal/in_progress. In
 * any case the lock file continues to say how long that step's owner lived.
 * NULL and error as ic_open_share(). A log of another version is only locked:
 * it can be discarded and closed. */
struct undo_log *undo_log_open(const char *path, const char *socket, bool look,
                               GError **error);

void undo_log_close(struct undo_log *log);

/* Return the version of a log whose version is not this program's; NULL if it
 * is. Borrowed. */
const char *undo_log_other_version(const struct undo_log *log);

/* Return whether this -errno of reading a record means damage; otherwise
 * another try may succeed. */
bool undo_log_is_damage(int rc);

/* ---- for the files of undo_log ------------------------------------------- */

/* Write the version file. Open wal, steps and the history, make what is
 * missing, and read them. 0 or -errno. */
int undo_log_write_version(struct undo_log *log);
int undo_log_open_parts(struct undo_log *log, bool *ret_damaged);
void undo_log_close_parts(struct undo_log *log);

#endif
