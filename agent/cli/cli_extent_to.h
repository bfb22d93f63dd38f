/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_extent_to - "undo --to STEP": find the steps that are newer.
 */
#ifndef AGENT_CLI_CLI_EXTENT_TO_H
#define AGENT_CLI_CLI_EXTENT_TO_H

#include "agent/cli/cli_place.h"

/* Set extent->step_id to the oldest step that is newer than extent->keep, or to
 * 0 if there is none. Such a step may be open or interrupted. FALSE: the
 * history has no step "keep", or cannot be read. */
gboolean cli_extent_to(const struct cli_place *place, struct cli_extent *extent,
                       GError **error);

#endif
