/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_newer - confirm the additional steps that an undo would cover.
 *
 * "stepback undo" means the newest command. Changes outside of commands that
 * came after it are undone as well, and they may be the user's own, so they are
 * listed first. On a terminal the user is asked; otherwise the answer is no,
 * unless --yes is given.
 */
#ifndef AGENT_CLI_CLI_NEWER_H
#define AGENT_CLI_CLI_NEWER_H

#include "agent/base/undo_result.h"
#include "agent/cli/cli_place.h"

/* Return whether this step is one of those that the user has counted. */
bool cli_newer_counts(const struct cli_extent *extent,
                      const struct step_report *report);

/* Return whether the undo of this extent may begin. If not, the reason has been
 * printed, with json as an error object. yes: do not ask. */
bool cli_newer_may_go(const struct cli_place *place,
                      const struct cli_extent *extent, bool yes, bool json);

#endif
