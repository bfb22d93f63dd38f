/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_streams - standard input and output, as a protocol's alone.
 */
#ifndef AGENT_CLI_CLI_STREAMS_H
#define AGENT_CLI_CLI_STREAMS_H

#include <stdbool.h>

struct cli_streams {
    int in, out; /* for the protocol; not closed here */
    int kept[2], flags[2];
};

/* From now on what a library prints to standard output goes to standard error.
 * False: one of the streams is not open. */
bool cli_streams_take(struct cli_streams *streams);

/* Who shares the open files finds them as they were: the protocol does not wait
 * for them, and others have to. */
void cli_streams_give_back(struct cli_streams *streams);

#endif
