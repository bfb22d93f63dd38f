/* SPDX-License-Identifier: Apache-2.0
 *
 * user_file - reads a file of the user's configuration.
 *
 * What a guest or another user can write is not configuration: the file and its
 * folder belong to the user or root, other users cannot write them, and the
 * file is in no folder with an undo log, which a sandbox may share.
 */
#ifndef AGENT_BASE_USER_FILE_H
#define AGENT_BASE_USER_FILE_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* Read the file, of at most 64 KiB, into a new string of *ret_len bytes. TRUE,
 * and neither is set: there is none. ERROR_INVALID_FIELD. */
gboolean user_file_read(const char *path, char **ret_text, size_t *ret_len,
                        GError **error);

/* Return whether only the user is in a group: distributions with such groups
 * make files that the group can write. Not thread-safe. */
bool user_file_is_own_group(gid_t gid);

#endif
