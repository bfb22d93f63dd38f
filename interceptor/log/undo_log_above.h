/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_above - the folder of logs beside a shared folder (log_name.h).
 *
 * The folder above may have content of others: a repository may have a symbolic
 * link in its place. So it is opened step by step, and no link is followed.
 */
#ifndef INTERCEPTOR_LOG_UNDO_LOG_ABOVE_H
#define INTERCEPTOR_LOG_UNDO_LOG_ABOVE_H

/* Open a folder only if the caller owns it: nothing is written into another
 * user's. Return an fd or -errno. */
int undo_log_open_own(int dirfd, const char *name);

/* Open the folder that has the log at this path, if it is a default path beside
 * a folder. Return an fd or -errno: -ENOENT for any other path, -ENOTDIR or
 * -ELOOP for a symbolic link, -EPERM for another user's. */
int undo_log_open_above(const char *path);

#endif
