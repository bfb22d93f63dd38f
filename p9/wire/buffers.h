/* SPDX-License-Identifier: Apache-2.0
 *
 * buffers - memory for large messages, kept for the next one.
 *
 * A megabyte from malloc(3) is mapped, touched page by page and unmapped again
 * each time, which costs more than the copy that it is for.
 *
 * Threads: any, but _free().
 */
#ifndef P9_WIRE_BUFFERS_H
#define P9_WIRE_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#define P9_BUFFERS_KEPT (16u << 20) /* bytes, at most */

struct p9_buffers;

struct p9_buffers *p9_buffers_new(void);

/* All must have been put back. NULL is allowed. */
void p9_buffers_free(struct p9_buffers *buffers);

/* At least size bytes, up to 8 MiB; NULL: there is no memory. Give it back with
 * the same size. */
uint8_t *p9_buffers_get(struct p9_buffers *buffers, size_t size);
void p9_buffers_put(struct p9_buffers *buffers, uint8_t *buffer, size_t size);

#endif
