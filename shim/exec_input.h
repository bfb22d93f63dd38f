/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_input - standard input of an execution, from the host to the process.
 *
 * The host sends at most WIRE_INPUT_WINDOW bytes beyond those reported as taken
 * (wire.h), so a ring buffer of that size holds all input that a process does
 * not read.
 */
#ifndef SHIM_EXEC_INPUT_H
#define SHIM_EXEC_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/port.h"
#include "shim/wire.h"

struct exec_input {
    int fd;           /* non-blocking; -1: closed, or never open */
    bool is_terminal; /* end of input is a character, not a closed fd */
    bool ending; /* the host has sent everything: end of input follows the last
                    byte */
    char ring[WIRE_INPUT_WINDOW];
    size_t start, len; /* position and length of the data in the ring */
    size_t taken;      /* not yet reported to the host */
    bool has_new;      /* since the last search for keys that signal */
};

/* Start with the fd (taken). -1: there is no input. */
void exec_input_open(struct exec_input *input, int fd, bool is_terminal);

/* Queue bytes from the host. Return false, without queuing any, if they exceed
 * the window. Bytes for a closed input count as taken. */
bool exec_input_add(struct exec_input *input, const void *data, size_t len);

/* Mark the end of input, after the bytes in the ring. */
void exec_input_end(struct exec_input *input);

/* Return true if the fd must be polled for POLLOUT. */
bool exec_input_wants(const struct exec_input *input);

/* Write as much as the process accepts, and report it if the port has room. */
void exec_input_advance(struct exec_input *input, int64_t id,
                        struct port *port);

void exec_input_close(struct exec_input *input);

#endif
