/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_rm - remove sandboxes.
 */
#ifndef AGENT_CLI_CLI_RM_H
#define AGENT_CLI_CLI_RM_H

#include <glib.h>
#include <stdbool.h>

/* Return the sandboxes that do not run (of struct sandbox_record; a new array),
 * or NULL after printing the error. */
GPtrArray *cli_rm_find_ended(void);

/* Remove sandboxes and print their names; force: also those that run. Returns
 * the exit status. */
int cli_rm_all(const GPtrArray *records, bool force);

#endif
