/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_start - create and start sandboxes, for "up" and "mcp --keep".
 */
#ifndef AGENT_CLI_CLI_START_H
#define AGENT_CLI_CLI_START_H

#include "agent/sandbox/sandbox_record.h"
#include "agent/vm/session_config.h"

/* Create a sandbox with this configuration (borrowed), start it, and wait until
 * it runs. name NULL: that of the first folder. A sandbox whose first start
 * fails is removed. On failure return NULL and error. */
struct sandbox_record *cli_start_new(const char *name,
                                     const struct session_config *config,
                                     gint64 idle_timeout_s, GError **error);

/* Start a sandbox that does not run (taken) with its own configuration. */
struct sandbox_record *cli_start_again(struct sandbox_record *record,
                                       GError **error);

#endif
