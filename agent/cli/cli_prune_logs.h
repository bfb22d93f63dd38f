/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_prune_logs - find undo logs whose folder is gone.
 */
#ifndef AGENT_CLI_CLI_PRUNE_LOGS_H
#define AGENT_CLI_CLI_PRUNE_LOGS_H

#include <glib.h>

struct cli_orphan_log {
    char *path;
    guint64 bytes; /* of disk space */
};

/* Return the logs beside the folders of dir, and beside the folders of these
 * sandboxes, whose folder is gone (of struct cli_orphan_log; a new array, by
 * path). Of those that stay because that cannot be told, print the reason. */
GPtrArray *cli_prune_logs_find(const char *dir, const GPtrArray *records);

#endif
