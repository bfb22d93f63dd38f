/* SPDX-License-Identifier: Apache-2.0
 *
 * flow - one direction of a connection: a buffer between two sockets.
 *
 * The buffer exists only while it has bytes: idle connections have none.
 */
#ifndef PROXY_FLOW_H
#define PROXY_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FLOW_MAX = 64 << 10 };

/* Zero at first. */
struct flow {
    char *data;
    size_t start, end; /* of the bytes in data */
    size_t passed;     /* of these, the leading ones that may be written */
    bool ended;        /* the source sends no more */
    bool shut;         /* the destination knows that */
    uint64_t total;    /* bytes written */
};

/* Return whether bytes should be read: none waits to be written, and there is
 * room behind those that have not passed. */
bool flow_wants(const struct flow *flow);

/* Read once. Return the number of bytes, 0 if there are none now, or -errno.
 * Sets ended. */
int flow_read(struct flow *flow, int fd);

/* Write bytes that have passed; when all are written, end the destination's
 * input if the source has ended. Return 0 or -errno. */
int flow_write(struct flow *flow, int fd);

/* Return the bytes that have not passed. */
const char *flow_held(const struct flow *flow, size_t *ret_length);

/* Return whether the destination has everything. */
bool flow_is_over(const struct flow *flow);

/* Drop the bytes, and free the buffer. */
void flow_clear(struct flow *flow);

#endif
