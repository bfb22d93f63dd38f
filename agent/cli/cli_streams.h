/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_streams - reserve standard input and output for a protocol.
 */
#ifndef AGENT_CLI_CLI_STREAMS_H
#define AGENT_CLI_CLI_STREAMS_H

#include <stdbool.h>

struct cli_streams {
    int in, out; /* for the protocol; not closed by this module */
    int kept[2], flags[2];
};

/* Redirect output that libraries print to standard output to standard error.
 * Return false if one of the streams is not open. */
bool cli_streams_take(struct cli_streams *streams);

/* Restore the blocking mode: the protocol makes the open files non-blocking,
 * but other processes that share them expect blocking I/O. */
void cli_streams_give_back(struct cli_streams *streams);

#endif
