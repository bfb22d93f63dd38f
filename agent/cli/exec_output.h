/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_output - write an execution's output to stdout and stderr without
 * waiting for their readers.
 *
 * O_NONBLOCK would also apply to other processes that share the descriptors
 * (fcntl(2)), so a write follows poll(2) and is at most PIPE_BUF bytes long
 * (pipe(7)).
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_CLI_EXEC_OUTPUT_H
#define AGENT_CLI_EXEC_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct exec_output;

struct exec_output_callbacks {
    /* Output waits: no more is wanted (true); it was written (false). */
    void (*full)(bool full, void *opaque);
    /* The reader has ended, or the terminal has hung up. Called once; output is
     * discarded. */
    void (*broken)(bool hung_up, void *opaque);
};

struct exec_output *
exec_output_new(const struct exec_output_callbacks *callbacks, void *opaque);
void exec_output_free(struct exec_output *output);

/* Write data (taken), now or later. */
void exec_output_add(struct exec_output *output, bool is_stderr, char *data,
                     size_t len);

/* Write nothing until this is undone, or the output is finished. */
void exec_output_pause(struct exec_output *output, bool pause);

/* Write what waits, waiting for the readers. */
void exec_output_finish(struct exec_output *output);

#endif
