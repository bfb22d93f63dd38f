/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_copy_place - which paths of the host an MCP client may copy from and to.
 *
 * A model drives the client, and a hostile guest can mislead the model. So a
 * path must be in a shared folder, which the guest has anyway, or in a copy
 * folder, which the user has allowed by an option (--copy-folder); it may not
 * lead out of that, by ".." or by a symbolic link.
 *
 * A path in a shared folder is never opened here: it is a path of the guest,
 * where a command does the copy, as a step.
 */
#ifndef AGENT_MCP_MCP_COPY_PLACE_H
#define AGENT_MCP_MCP_COPY_PLACE_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/session/session_events.h"

struct mcp_copy_place {
    char *shared; /* the path in the guest, if it is in a shared folder */
    int dir_fd;   /* otherwise: the directory, opened beneath the copy folder */
    char *name;   /* in it; "." for the directory itself */
};

/* Resolve host_path and directory of a tool's arguments. target: the path is
 * copied to, and an existing directory receives the entries. On failure return
 * FALSE with ERROR_PATH_OUTSIDE_ROOT, ERROR_NOT_FOUND, ERROR_INVALID_FIELD or
 * ERROR_IO_ERROR. Clear it in either case. */
gboolean mcp_copy_place_find(const struct session_config *config,
                             json_t *arguments, bool target,
                             struct mcp_copy_place *ret_place, GError **error);
void mcp_copy_place_clear(struct mcp_copy_place *place);

/* Return the shared folder that has a path of the guest, or NULL. */
const struct session_directory *
mcp_copy_place_shared(const struct session_config *config, const char *path);

#endif
