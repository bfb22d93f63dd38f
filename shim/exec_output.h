/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_output - one output stream of an execution: a pipe, or the master of
 * its terminal.
 *
 * The fd is read only while the port has room and the host has granted credit
 * (wire.h), so a flood stays in the pipe and stops its writer.
 */
#ifndef SHIM_EXEC_OUTPUT_H
#define SHIM_EXEC_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/port.h"

/* What the host lets one execution send. */
struct exec_credit {
    bool limited; /* false: as much as the port takes */
    int64_t left; /* in bytes of output */
};

struct exec_output {
    const char *name; /* "stdout" or "stderr" */
    int fd;           /* does not block; -1 once at its end */
    bool draining;    /* the process is over: drain_left bounds what follows */
    size_t drain_left;
    unsigned char tail[4]; /* a character that is not complete yet */
    size_t tail_len;
};

/* True if a read makes sense now. */
bool exec_output_wants(const struct exec_output *output,
                       const struct exec_credit *credit,
                       const struct port *port);

/* Read one chunk and queue it, except a character that is cut at its end.
 * False if there was nothing to read. */
bool exec_output_pump(struct exec_output *output, int64_t id,
                      struct exec_credit *credit, struct port *port);

/* The process is over: from here on read at most this many bytes, and stop at
 * the first moment at which there are none. */
void exec_output_drain(struct exec_output *output, size_t most);

/* True once nothing is left to read. */
bool exec_output_is_drained(const struct exec_output *output);

/* True if the port has room for a chunk, and so for exec_output_finish(). */
bool exec_output_has_room(const struct port *port);

/* Queue what is left of an incomplete character. */
void exec_output_finish(struct exec_output *output, int64_t id,
                        struct port *port);

#endif
