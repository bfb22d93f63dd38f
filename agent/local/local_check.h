/* SPDX-License-Identifier: Apache-2.0
 *
 * local_check - what local isolation needs, and what it refuses.
 */
#ifndef AGENT_LOCAL_LOCAL_CHECK_H
#define AGENT_LOCAL_LOCAL_CHECK_H

#include <glib.h>
#include <stdbool.h>

#include "agent/machine/session_config.h"

struct local_ids;

#define LOCAL_BWRAP  "bwrap"
#define LOCAL_HELPER "stepback-local"

/* Return the path of bubblewrap: a new string. On failure return NULL with
 * ERROR_NO_BUBBLEWRAP and the remedy. */
char *local_check_find_bwrap(GError **error);

/* Return the remedy if /dev/fuse cannot be opened for this reason, an errno:
 * static. */
const char *local_check_fuse_remedy(int reason);

/* Check that /dev/fuse can be used: ERROR_NO_FUSE and the remedy. */
gboolean local_check_fuse(GError **error);

/* Check that the host allows the namespaces: ERROR_NO_USER_NAMESPACES and the
 * remedy. helper: the path of stepback-local; ids: with these, or NULL. */
gboolean local_check_namespaces(const char *helper, const struct local_ids *ids,
                                GError **error);

/* The remedy of ERROR_NO_USER_NAMESPACES on this host. Static. */
const char *local_check_namespace_remedy(void);

/* Refuse folders that hide the system of the sandbox or expose the user's home,
 * and settings that only a virtual machine has: ERROR_INVALID_DIRECTORY,
 * ERROR_INVALID_FIELD. */
gboolean local_check_config(const struct session_config *config,
                            GError **error);

/* Return whether a folder lies where an image has its system, which is
 * read-only and may have no folder of that name. */
bool local_check_is_of_image(const char *folder);

/* Return the homes of the user, by $HOME and by the user database: a new
 * NULL-terminated array of one or two absolute paths that are not "/". */
char **local_check_homes(void);

#endif
