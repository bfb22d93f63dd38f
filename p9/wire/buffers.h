/* SPDX-License-Identifier: Apache-2.0
 *
 * buffers - caches memory for large messages.
 *
 * malloc(3) maps a megabyte, touches it page by page and unmaps it again each
 * time, which costs more than copying the message.
 *
 * Threads: any, except p9_buffers_free().
 */
#ifndef P9_WIRE_BUFFERS_H
#define P9_WIRE_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#define P9_BUFFERS_KEPT (16u << 20) /* bytes, at most */

struct p9_buffers;

struct p9_buffers *p9_buffers_new(void);

/* All buffers must have been put back. NULL is allowed. */
void p9_buffers_free(struct p9_buffers *buffers);

/* Return a buffer of at least size bytes, up to 8 MiB; NULL if there is no
 * memory. Put it back with the same size. */
uint8_t *p9_buffers_get(struct p9_buffers *buffers, size_t size);
void p9_buffers_put(struct p9_buffers *buffers, uint8_t *buffer, size_t size);

#endif
