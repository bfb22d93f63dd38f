/* SPDX-License-Identifier: Apache-2.0
 *
 * fs_view - a look at the working folder for the frontend.
 *
 * Paths are relative to the folder and cannot lead out of it, by ".." or by a
 * symlink that the guest has made (openat2(2), RESOLVE_BENEATH). "" and "."
 * are the folder. Nothing is opened that could block (FIFOs, devices).
 *
 * Errors: ERROR_PATH_OUTSIDE_ROOT, ERROR_NOT_FOUND, ERROR_TOO_LARGE,
 * ERROR_INVALID_FIELD (it is not a folder, not a file), ERROR_IO_ERROR.
 */
#ifndef AGENT_SESSION_FS_VIEW_H
#define AGENT_SESSION_FS_VIEW_H

#include <glib.h>
#include <jansson.h>
#include <stdint.h>
#include <sys/stat.h>

/* What one fs.read returns at most. */
#define FS_VIEW_READ_MAX (8 << 20)

/* Open what is beneath the folder, by openat2(2). -errno: -EXDEV if the path
 * leads out of it. */
int fs_view_open(int root_fd, const char *path, int flags);

/* Where a path leads, or would if it were made: relative to the folder, and
 * without symlinks. A new string; NULL: out of it, or nowhere. */
char *fs_view_target(int root_fd, const char *path);

/* The entries of a folder, by name, at most limit: {"path","entries":[{name,
 * type,size,mode,mtime}],"truncated"}. A new reference. */
json_t *fs_view_list(int root_fd, const char *path, unsigned limit,
                     GError **error);

/* length bytes of a file from offset on; length < 0: up to its end. {"path",
 * "data"[,"encoding"],"offset","length","size"}. A new reference. */
json_t *fs_view_read(int root_fd, const char *path, int64_t offset,
                     int64_t length, GError **error);

#endif
