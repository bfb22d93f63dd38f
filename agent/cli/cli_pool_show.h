/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_pool_show - print what the pool of machines has.
 */
#ifndef AGENT_CLI_CLI_POOL_SHOW_H
#define AGENT_CLI_CLI_POOL_SHOW_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* The name of the pool's row in lists of sandboxes; no sandbox has it. */
#define CLI_POOL_ROW "(pool)"

struct cli_pool_summary {
    unsigned size, waiting, processes;
    guint64 memory_bytes; /* of all its processes */
};

/* Return whether a pool runs, and what it has. */
bool cli_pool_summarize(struct cli_pool_summary *ret_summary);

/* Print the pool's status (pool_client.h), and why it is not full. */
void cli_pool_print(json_t *status);

#endif
