/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_origin - mark a log's folder as one that was made here.
 *
 * What a log says is done on the host, with the rights of the process that
 * opens it: modes, owners, device nodes. At its default path,
 * .stepback/.git/NAME beside the shared folder, a log may be part of other
 * content: of a repository or an archive, or of a folder above that others can
 * write. So a log is created in an empty folder only, and that folder gets an
 * extended attribute with its own inode number and btime, which no program can
 * choose (btime.h). No other folder is opened as a log: a copy, or one of an
 * earlier version, not before its user has marked it.
 *
 * A filesystem without extended attributes of users has no marks: there, the
 * attribute is not required. Nor is it for a caller that only looks; but that
 * one, which also makes files in an empty folder, marks it first, as others may
 * open the folder at the same time.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_ORIGIN_H
#define INTERCEPTOR_LOG_UNDO_LOG_ORIGIN_H

#include <glib.h>

/* The attribute. No client may set it. */
#define UNDO_LOG_ORIGIN "user.stepback.log"

/* Check the mark of the log's folder, dir; mark an empty one. path: for errors
 * (ERROR_INVALID_DIRECTORY, ERROR_IO_ERROR). */
gboolean undo_log_check_origin(int dir, const char *path, GError **error);

/* The same for a caller that only looks: nothing is an error. */
void undo_log_mark_empty(int dir);

#endif
