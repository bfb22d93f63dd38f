/* SPDX-License-Identifier: Apache-2.0
 *
 * wiped - memory that is cleared before it is freed, for values of secrets.
 *
 * A GString that grows, or a library that frees its buffers, leaves copies of
 * their bytes in the heap.
 */
#ifndef COMMON_WIPED_H
#define COMMON_WIPED_H

#include <glib.h>
#include <stddef.h>

/* Append as g_string_append_len(), and leave no copy behind. */
void wiped_append(GString *text, const char *data, size_t length);

/* Erase the first length bytes, and leave none behind the text. */
void wiped_erase(GString *text, size_t length);

/* Free text with its memory cleared. NULL is allowed. */
void wiped_free(GString *text);

/* In place of free(3), for memory of malloc(3). NULL is allowed. */
void wiped_free_memory(void *memory);

/* Return bytes that take memory of malloc(3). */
GBytes *wiped_bytes(void *memory, size_t length);

/* In place of realloc(3), likewise. */
void *wiped_reallocate(void *memory, size_t size);

/* Let jansson clear all memory that it frees. Before its first use. */
void wiped_json(void);

#endif
