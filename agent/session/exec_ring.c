/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_ring - see exec_ring.h.
 */
#include "agent/session/exec_ring.h"

enum {
    CHUNK_BYTES = 16 * 1024, /* a chunk that has this much is complete */
    /* Charged for each chunk, so that a guest that alternates between its
     * streams costs no more memory. */
    CHUNK_COST = 128,
};

struct exec_ring {
    GQueue chunks; /* of struct exec_chunk */
    guint64 start; /* the offset of the first chunk */
    guint64 end;
    size_t cost;
};

static void chunk_free(gpointer data)
{
    struct exec_chunk *chunk = data;

    g_string_free(chunk->data, TRUE);
    g_free(chunk);
}

static struct exec_chunk *chunk_new(bool is_stderr, const char *data,
                                    size_t len)
{
    struct exec_chunk *chunk = g_new(struct exec_chunk, 1);

    chunk->is_stderr = is_stderr;
    chunk->data = g_string_new_len(data, (gssize)len);
    return chunk;
}

struct exec_ring *exec_ring_new(void)
{
    struct exec_ring *ring = g_new0(struct exec_ring, 1);

    g_queue_init(&ring->chunks);
    return ring;
}

void exec_ring_free(struct exec_ring *ring)
{
    if (!ring)
        return;
    g_queue_clear_full(&ring->chunks, chunk_free);
    g_free(ring);
}

static void drop_oldest(struct exec_ring *ring)
{
    struct exec_chunk *chunk = g_queue_pop_head(&ring->chunks);

    ring->start += chunk->data->len;
    ring->cost -= chunk->data->len + CHUNK_COST;
    chunk_free(chunk);
}

void exec_ring_add(struct exec_ring *ring, bool is_stderr, const char *data,
                   size_t len)
{
    struct exec_chunk *last = g_queue_peek_tail(&ring->chunks);

    if (len == 0)
        return;
    if (last && last->is_stderr == is_stderr && last->data->len < CHUNK_BYTES) {
        g_string_append_len(last->data, data, (gssize)len);
    } else {
        g_queue_push_tail(&ring->chunks, chunk_new(is_stderr, data, len));
        ring->cost += CHUNK_COST;
    }
    ring->cost += len;
    ring->end += len;
    while (ring->cost > EXEC_RING_BYTES)
        drop_oldest(ring);
}

guint64 exec_ring_end(const struct exec_ring *ring)
{
    return ring->end;
}

size_t exec_ring_size(const struct exec_ring *ring)
{
    return ring->cost;
}

void exec_ring_drop(struct exec_ring *ring)
{
    while (ring->cost > 0)
        drop_oldest(ring);
}

GPtrArray *exec_ring_read(const struct exec_ring *ring, guint64 since,
                          size_t max, guint64 *ret_next, guint64 *ret_gone)
{
    GPtrArray *found = g_ptr_array_new_with_free_func(chunk_free);
    guint64 at = ring->start, next = MAX(since, ring->start);
    size_t left = max;

    *ret_gone = next - since;
    for (GList *link = ring->chunks.head; link && left > 0; link = link->next) {
        const struct exec_chunk *chunk = link->data;
        guint64 chunk_end = at + chunk->data->len;

        if (next < chunk_end) {
            size_t skip = (size_t)(next - at);
            size_t len = MIN(chunk->data->len - skip, left);

            g_ptr_array_add(found, chunk_new(chunk->is_stderr,
                                             chunk->data->str + skip, len));
            next += len;
            left -= len;
        }
        at = chunk_end;
    }
    *ret_next = next;
    return found;
}
