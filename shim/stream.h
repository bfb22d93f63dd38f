/* SPDX-License-Identifier: Apache-2.0
 *
 * stream - one output pipe of a command, turned into output messages.
 *
 * What is read goes out at once as text, or as base64 when it is not UTF-8
 * or holds a NUL. A character cut at the end of what was read is carried over
 * to the next message, so that the cut does not make binary of a text.
 */
#ifndef SHIM_STREAM_H
#define SHIM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/port.h"
#include "shim/wire.h"

/* The port needs this much room before stream_pump(). */
enum {
    STREAM_ROOM = WIRE_OUTPUT_MAX * JSON_WRITER_EXPANSION + PORT_SMALL_MESSAGE,
};

struct stream {
    int fd;           /* -1 at end of file */
    const char *name; /* WIRE_STDOUT or WIRE_STDERR */
    size_t carry;     /* bytes at the front of data not yet sent */
    char data[WIRE_OUTPUT_MAX];
};

/* Make the pipe: the end for the command, or -errno. Both are FD_CLOEXEC. */
int stream_open(struct stream *stream, const char *name);

/* Read at most limit bytes and send them. Bytes read, 0 if none are there (or
 * at end of file, when fd becomes -1). */
size_t stream_pump(struct stream *stream, size_t limit, int64_t id,
                   struct port *port);

/* Send what is carried, though no more will come. */
void stream_flush(struct stream *stream, int64_t id, struct port *port);

/* Bytes that can be read now. */
size_t stream_ready(const struct stream *stream);

/* Give up the pipe: the fd (or -1), which the caller now owns. */
int stream_release(struct stream *stream);

#endif
