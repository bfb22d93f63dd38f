/* SPDX-License-Identifier: Apache-2.0
 *
 * fs_view - read access to a working folder for the frontend.
 *
 * Paths are relative to the folder and cannot escape from it, by ".." or by a
 * symlink that the guest created (openat2(2), RESOLVE_BENEATH). "" and "." are
 * the folder itself. Files that could block on open (FIFOs, devices) are never
 * opened.
 *
 * Errors: ERROR_PATH_OUTSIDE_ROOT, ERROR_NOT_FOUND, ERROR_TOO_LARGE,
 * ERROR_INVALID_FIELD (not a folder, not a file), ERROR_IO_ERROR.
 */
#ifndef AGENT_SESSION_FS_VIEW_H
#define AGENT_SESSION_FS_VIEW_H

#include <glib.h>
#include <jansson.h>
#include <stdint.h>
#include <sys/stat.h>

/* Maximum size of one fs.read answer, in bytes. */
#define FS_VIEW_READ_MAX (8 << 20)

/* Open a path beneath the folder with openat2(2). Return -errno on failure:
 * -EXDEV if the path escapes from the folder. */
int fs_view_open(int root_fd, const char *path, int flags);

/* Resolve the symlinks of a path that may not exist yet. Return the target
 * relative to the folder as a new string, or NULL if it escapes or cannot be
 * resolved. */
char *fs_view_target(int root_fd, const char *path);

/* List the entries of a folder by name, at most limit of them: {"path",
 * "entries":[{name,type,size,mode,mtime}],"truncated"}. Returns a new
 * reference. */
json_t *fs_view_list(int root_fd, const char *path, unsigned limit,
                     GError **error);

/* Read length bytes of a file from offset; length < 0: up to the end.
 * {"path","data"[,"encoding"],"offset","length","size"}. Returns a new
 * reference. */
json_t *fs_view_read(int root_fd, const char *path, int64_t offset,
                     int64_t length, GError **error);

#endif
