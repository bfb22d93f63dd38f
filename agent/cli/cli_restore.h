/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_restore - "stepback undo [N] -- PATH...": undo by path.
 */
#ifndef AGENT_CLI_RESTORE_H
#define AGENT_CLI_RESTORE_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/cli/cli_output.h"
#include "agent/cli/cli_place.h"

/* Restore these paths (taken) to their state before the oldest step of the
 * extent; if dry, only list the changes. Returns the exit code. */
int cli_restore(const struct cli_place *place, const struct cli_extent *extent,
                json_t *paths, bool dry, bool json, struct cli_output *output);

#endif
