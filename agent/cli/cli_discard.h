/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_discard - "stepback undo --discard": forget the history.
 */
#ifndef AGENT_CLI_CLI_DISCARD_H
#define AGENT_CLI_CLI_DISCARD_H

#include "agent/cli/cli_place.h"

/* Forget all steps; on a terminal ask first, unless yes is set. Returns the
 * exit code of the command line. */
int cli_discard(const struct cli_place *place, bool yes, bool json);

#endif
