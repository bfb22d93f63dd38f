/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_jobs - what "job" does, for other commands.
 */
#ifndef AGENT_CLI_CLI_JOBS_H
#define AGENT_CLI_CLI_JOBS_H

#include <glib.h>
#include <stdbool.h>

#include "agent/sandbox/sandbox_record.h"

/* Print the kept output of an execution; follow: until it ends. Return
 * CLI_FAILED after printing an error. */
int cli_jobs_print_output(const struct sandbox_record *record, gint64 id,
                          bool follow);

#endif
