/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_start - create and start sandboxes, for "up" and "mcp --keep".
 */
#ifndef AGENT_CLI_CLI_START_H
#define AGENT_CLI_CLI_START_H

#include "agent/sandbox/sandbox_record.h"
#include "agent/machine/session_config.h"

/* Create a sandbox with this configuration (borrowed), start it, and wait until
 * it runs. name NULL: that of the first folder. A sandbox whose first start
 * fails is removed. ret_session (a new object): the session as in
 * session.status; NULL: show no progress. On failure return NULL and error. */
struct sandbox_record *cli_start_new(const char *name,
                                     const struct session_config *config,
                                     gint64 idle_timeout_s,
                                     json_t **ret_session, GError **error);

/* Start a sandbox that does not run (taken) with its own configuration. */
struct sandbox_record *cli_start_again(struct sandbox_record *record,
                                       json_t **ret_session, GError **error);

#endif
