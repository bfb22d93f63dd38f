/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_ring - the latest output of an execution.
 *
 * Offsets count the bytes of both streams since the ring was created. The ring
 * keeps at most EXEC_RING_BYTES; older output is gone.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_EXEC_RING_H
#define AGENT_SESSION_EXEC_RING_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#define EXEC_RING_BYTES (1024 * 1024)

struct exec_ring;

/* A part of one stream. */
struct exec_chunk {
    bool is_stderr;
    GString *data;
};

struct exec_ring *exec_ring_new(void);
/* NULL is allowed. */
void exec_ring_free(struct exec_ring *ring);

void exec_ring_add(struct exec_ring *ring, bool is_stderr, const char *data,
                   size_t len);

/* Return the offset after the last byte. */
guint64 exec_ring_end(const struct exec_ring *ring);

/* Return the memory that the kept output takes, in bytes. */
size_t exec_ring_size(const struct exec_ring *ring);

/* Drop all kept output; offsets go on. */
void exec_ring_drop(struct exec_ring *ring);

/* Get output from the offset "since" on, at most about "max" bytes: a new array
 * of struct exec_chunk (owned). *ret_next is the offset to continue from,
 * *ret_gone how many bytes after "since" are lost. */
GPtrArray *exec_ring_read(const struct exec_ring *ring, guint64 since,
                          size_t max, guint64 *ret_next, guint64 *ret_gone);

#endif
