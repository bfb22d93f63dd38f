/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_input - standard input of an execution, on its way from the host.
 *
 * The host sends at most WIRE_INPUT_WINDOW bytes that it was not told are
 * taken (wire.h), so a ring of that size holds all that a process which does
 * not read leaves behind.
 */
#ifndef SHIM_EXEC_INPUT_H
#define SHIM_EXEC_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/port.h"
#include "shim/wire.h"

struct exec_input {
    int fd;           /* does not block; -1: closed, or never open */
    bool is_terminal; /* its end is a character, not a closed fd */
    bool ending;      /* the host sent all: the end follows the last byte */
    char ring[WIRE_INPUT_WINDOW];
    size_t start, len; /* of the bytes in the ring */
    size_t taken;      /* not yet reported to the host */
};

/* Take the fd. -1: there is no input. */
void exec_input_open(struct exec_input *input, int fd, bool is_terminal);

/* Queue bytes from the host. False if they exceed the window: none is taken.
 * Bytes for a closed input count as taken. */
bool exec_input_add(struct exec_input *input, const void *data, size_t len);

/* No byte follows those in the ring. */
void exec_input_end(struct exec_input *input);

/* True if the fd must be polled for POLLOUT. */
bool exec_input_wants(const struct exec_input *input);

/* Write what the process takes, and report it if the port has room. */
void exec_input_advance(struct exec_input *input, int64_t id,
                        struct port *port);

void exec_input_close(struct exec_input *input);

#endif
