/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_output - one output stream of an execution: a pipe, or the master of its
 * terminal.
 *
 * The fd is read only while the port has room and the host has granted credit
 * (wire.h), so a flood of output stays in the pipe and blocks its writer.
 */
#ifndef SHIM_EXEC_OUTPUT_H
#define SHIM_EXEC_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/port.h"

/* The output that the host has allowed one execution to send. */
struct exec_credit {
    bool limited; /* false: limited by the port only */
    int64_t left; /* in bytes of output */
};

struct exec_output {
    const char *name; /* "stdout" or "stderr" */
    int fd;           /* non-blocking; -1 after end of file */
    bool draining;    /* the process has ended: drain_left limits the remaining
                         output */
    size_t drain_left;
    unsigned char tail[4]; /* an incomplete character */
    size_t tail_len;
};

/* Return true if a read makes sense now. */
bool exec_output_wants(const struct exec_output *output,
                       const struct exec_credit *credit,
                       const struct port *port);

/* Read one chunk and queue it, without an incomplete character at its end.
 * Return false if there was nothing to read. */
bool exec_output_pump(struct exec_output *output, int64_t id,
                      struct exec_credit *credit, struct port *port);

/* The process has ended: from now on read at most this many bytes, and stop as
 * soon as none are available. */
void exec_output_drain(struct exec_output *output, size_t most);

/* Return true once nothing is left to read. */
bool exec_output_is_drained(const struct exec_output *output);

/* Return true if the port has room for a chunk, and so for
 * exec_output_finish(). */
bool exec_output_has_room(const struct port *port);

/* Queue the bytes of an incomplete character. */
void exec_output_finish(struct exec_output *output, int64_t id,
                        struct port *port);

#endif
