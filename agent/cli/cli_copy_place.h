/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_copy_place - the host's place of a copy, where a guest could lead it
 * elsewhere.
 *
 * In a shared folder a guest can make a symbolic link where the user expects a
 * directory ("build" -> ~/.ssh), also while the copy begins. So the place is
 * opened below the folder (openat2(2), RESOLVE_BENEATH), and the copy uses what
 * was opened. Links above the folder are the user's.
 */
#ifndef AGENT_CLI_CLI_COPY_PLACE_H
#define AGENT_CLI_CLI_COPY_PLACE_H

#include "agent/cli/cli_copy.h"

/* If the plan's host path lies in one of these folders (real paths,
 * NULL-terminated), or in one with an undo log, change to the directory of the
 * path, and let the plan name it from there. Else do nothing. On failure return
 * FALSE with ERROR_PATH_OUTSIDE_ROOT or ERROR_IO_ERROR. */
gboolean cli_copy_enter_place(struct copy_plan *plan,
                              const char *const *folders, GError **error);

#endif
