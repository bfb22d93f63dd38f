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
#include <stdbool.h>
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

struct fs_entry {
    char *name; /* any bytes */
    struct stat st;
};

struct fs_listing {
    GArray *entries; /* of struct fs_entry, by name */
    bool truncated;
};

/* Part of a file. */
struct fs_content {
    char *data;
    size_t length;
    int64_t offset, size; /* size: of the whole file */
};

/* List the entries of a folder, at most limit of them. Returns a new object. */
struct fs_listing *fs_view_list(int root_fd, const char *path, unsigned limit,
                                GError **error);
void fs_listing_free(struct fs_listing *listing);

/* Read length bytes of a file from offset; length < 0: up to the end. Returns a
 * new object. */
struct fs_content *fs_view_read(int root_fd, const char *path, int64_t offset,
                                int64_t length, GError **error);
void fs_content_free(struct fs_content *content);

/* Return the protocol's name of a file type: static. */
const char *fs_type_name(mode_t mode);

#endif
