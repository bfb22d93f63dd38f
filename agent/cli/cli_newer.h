/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_newer - what an undo would take along, and whether the user wants that.
 *
 * "stepback undo" means the newest command. Changes outside of commands that
 * came after it would go along, and those are the user's own, maybe; so they
 * are told first. On a terminal the user is asked; else the answer is no,
 * unless --yes says otherwise.
 */
#ifndef AGENT_CLI_CLI_NEWER_H
#define AGENT_CLI_CLI_NEWER_H

#include "agent/base/undo_result.h"
#include "agent/cli/cli_place.h"

/* Is this step one of those that the user has counted? */
bool cli_newer_counts(const struct cli_extent *extent,
                      const struct step_report *report);

/* May the undo of this extent begin? Where it may not, the reason was told,
 * with json as an error object. yes: do not ask. */
bool cli_newer_may_go(const struct cli_place *place,
                      const struct cli_extent *extent, bool yes, bool json);

#endif
