/* SPDX-License-Identifier: Apache-2.0
 *
 * wiped - see wiped.h.
 */
#include "common/wiped.h"

#include <jansson.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 256 };

static void grow(GString *text, size_t room)
{
    char *str = g_malloc(room);

    memcpy(str, text->str, text->len + 1);
    explicit_bzero(text->str, text->allocated_len);
    g_free(text->str);
    text->str = str;
    text->allocated_len = room;
}

void wiped_append(GString *text, const char *data, size_t length)
{
    if (length >= text->allocated_len - text->len)
        grow(text, MAX(2 * (text->len + length + 1), (size_t)ROOM_MIN));
    g_string_append_len(text, data, (gssize)length);
}

void wiped_erase(GString *text, size_t length)
{
    size_t end = text->len;

    g_string_erase(text, 0, (gssize)length);
    explicit_bzero(text->str + text->len, end - text->len);
}

void wiped_free(GString *text)
{
    if (!text)
        return;
    explicit_bzero(text->str, text->allocated_len);
    g_string_free(text, TRUE);
}

void wiped_free_memory(void *memory)
{
    if (memory)
        explicit_bzero(memory, malloc_usable_size(memory));
    free(memory);
}

GBytes *wiped_bytes(void *memory, size_t length)
{
    return g_bytes_new_with_free_func(memory, length, wiped_free_memory,
                                      memory);
}

void *wiped_reallocate(void *memory, size_t size)
{
    size_t room = memory ? malloc_usable_size(memory) : 0;
    void *moved;

    if (room >= size && memory)
        return memory;
    moved = malloc(size);
    if (!moved)
        return NULL;
    if (memory)
        memcpy(moved, memory, room);
    wiped_free_memory(memory);
    return moved;
}

void wiped_json(void)
{
    json_set_alloc_funcs(malloc, wiped_free_memory);
}
