/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_open - opening and closing an undo log.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_OPEN_H
#define INTERCEPTOR_LOG_UNDO_LOG_OPEN_H

#include "interceptor/log/undo_log_base.h"

/* Open or make the log at path and lock it. socket (may be NULL) is written
 * into the lock file; but with look not while a step lies in wal/in_progress.
 * How long that one's owner lived stays to be read there in any case. NULL and
 * error as ic_open_share(). A log of another version is locked, and that is
 * all: it can be discarded and closed. */
struct undo_log *undo_log_open(const char *path, const char *socket, bool look,
                               GError **error);

void undo_log_close(struct undo_log *log);

/* The version of a log that is not of ours, as it says; NULL: it is of ours.
 * Borrowed. */
const char *undo_log_other_version(const struct undo_log *log);

/* Does this -errno of reading a record say that it is damaged? Else another try
 * may do better. */
bool undo_log_is_damage(int rc);

/* ---- for the files of undo_log ------------------------------------------- */

/* Write the version file. Open wal, steps and the history, which are made if
 * there are none, and read what is there. 0 or -errno. */
int undo_log_write_version(struct undo_log *log);
int undo_log_open_parts(struct undo_log *log, bool *ret_damaged);
void undo_log_close_parts(struct undo_log *log);

#endif
