/* SPDX-License-Identifier: Apache-2.0
 *
 * relay_output - bytes of a relay that wait to be written.
 *
 * Two buffers: the owner of the relay writes one, which keeps its place, while
 * the relay adds to the other. They exist only while they have bytes.
 */
#ifndef PROXY_RELAY_OUTPUT_H
#define PROXY_RELAY_OUTPUT_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RELAY_OUTPUT_MAX = 64 << 10 };

/* Zero at first. */
struct relay_output {
    GString *front, *back; /* NULL: empty */
    size_t written;        /* of front */
    bool has_secrets;      /* clear the memory before it is freed */
};

/* Return how many bytes may be added: streams stop at 0. What must be added as
 * a whole, such as a head, may exceed it once. */
size_t relay_output_room(const struct relay_output *output);

void relay_output_add(struct relay_output *output, const char *data,
                      size_t length);
bool relay_output_is_empty(const struct relay_output *output);

/* Return the bytes to write; stable until all of them are written. */
const uint8_t *relay_output_get(struct relay_output *output,
                                size_t *ret_length);
void relay_output_written(struct relay_output *output, size_t length);

/* Drop everything. */
void relay_output_clear(struct relay_output *output);

#endif
