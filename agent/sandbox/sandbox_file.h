/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox_file - the JSON files in a sandbox's state directory.
 *
 * Each is an object with "version". It is replaced atomically: the new content
 * is written beside it, synced and renamed, so that a full disk or a crash
 * leaves the old file.
 */
#ifndef AGENT_SANDBOX_SANDBOX_FILE_H
#define AGENT_SANDBOX_SANDBOX_FILE_H

#include <glib.h>
#include <jansson.h>

enum { SANDBOX_FILE_VERSION = 1 };

/* Write an object (taken) as dir_fd/name, mode 0600, with "version" added.
 * Fails with ERROR_IO_ERROR. */
gboolean sandbox_file_write(int dir_fd, const char *name, json_t *object,
                            GError **error);

/* Read it: a new object. On failure return NULL with ERROR_NOT_FOUND (no such
 * file), ERROR_INVALID_FIELD (another version, or no such object) or
 * ERROR_IO_ERROR. */
json_t *sandbox_file_read(int dir_fd, const char *name, GError **error);

#endif
