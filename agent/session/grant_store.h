/* SPDX-License-Identifier: Apache-2.0
 *
 * grant_store - the grants that come back at the next start.
 *
 *     $XDG_STATE_HOME/stepback/grants/HASH.ini    0600, in a folder with 0700
 *
 * There is one file for each first folder of sandboxes; HASH is the SHA-256 of
 * its path. A file is replaced as a whole, under a lock. The place is refused
 * where a guest can, or could, write.
 */
#ifndef AGENT_SESSION_GRANT_STORE_H
#define AGENT_SESSION_GRANT_STORE_H

#include "agent/machine/session_config.h"

struct stored_grant {
    char *path;
    bool read_only;
    struct folder_grant *info;
};

/* Return the grants for sandboxes of this configuration's first folder (of
 * struct stored_grant; a new array). On failure return NULL with
 * ERROR_INVALID_DIRECTORY (the place), ERROR_INVALID_FIELD (not such a file) or
 * ERROR_IO_ERROR. */
GPtrArray *grant_store_load(const struct session_config *config,
                            GError **error);

/* Keep the grant of this folder, in place of an earlier one. */
gboolean grant_store_add(const struct session_config *config,
                         const struct session_directory *directory,
                         GError **error);

/* Forget the grant of a path, if there is one. */
gboolean grant_store_remove(const struct session_config *config,
                            const char *path, GError **error);

/* Return the path of the file, which need not exist: a new string. */
char *grant_store_path(const struct session_config *config);

#endif
