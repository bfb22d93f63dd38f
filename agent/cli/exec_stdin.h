/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_stdin - read standard input for an execution, as fast as it takes it;
 * a terminal also faster, at most 16 MiB, so that keys can detach.
 *
 * A terminal that hangs up is not the end of the input: the execution's
 * terminal would get that as a character, and a shell would exit.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_CLI_EXEC_STDIN_H
#define AGENT_CLI_EXEC_STDIN_H

#include <stdbool.h>
#include <stddef.h>

struct exec_stdin;

struct exec_stdin_callbacks {
    /* Keys were typed at a terminal. Return how many of the bytes to keep from
     * the execution. */
    size_t (*take)(const char *data, size_t len, void *opaque);
    /* Send a part, or the end; exec_stdin_taken() follows. */
    void (*send)(const char *data, size_t len, bool eof, void *opaque);
    void (*detach)(void *opaque);  /* the keys were typed */
    void (*hung_up)(void *opaque); /* stdin was a terminal */
    /* ^C or ^\\ was typed, and is sent as well. */
    void (*interrupted)(void *opaque);
};

/* terminal: stdin is a terminal in raw mode. keys: what detaches
 * (exec_keys.h), or NULL. */
struct exec_stdin *exec_stdin_new(bool terminal, const char *keys,
                                  const struct exec_stdin_callbacks *callbacks,
                                  void *opaque);
/* NULL is allowed. */
void exec_stdin_free(struct exec_stdin *input);

/* Begin to read. */
void exec_stdin_begin(struct exec_stdin *input);

/* A part was sent, or, if refused, the execution takes no more. */
void exec_stdin_taken(struct exec_stdin *input, bool refused);

/* Read no more. */
void exec_stdin_stop(struct exec_stdin *input);

#endif
