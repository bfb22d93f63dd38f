/* SPDX-License-Identifier: Apache-2.0
 *
 * buffers - see buffers.h.
 *
 * Sizes are rounded up to powers of two; each size has a stack, so that the
 * most recently used buffer, which is in the processor's cache, is reused
 * first.
 */
#include "p9/wire/buffers.h"

#include <glib.h>
#include <pthread.h>

enum { MIN_SHIFT = 13, MAX_SHIFT = 23 };

struct kept {
    struct kept *next;
};

struct p9_buffers {
    pthread_mutex_t lock;
    struct kept *stacks[MAX_SHIFT + 1];
    size_t bytes;
};

struct p9_buffers *p9_buffers_new(void)
{
    struct p9_buffers *buffers = g_new0(struct p9_buffers, 1);

    pthread_mutex_init(&buffers->lock, NULL);
    return buffers;
}

void p9_buffers_free(struct p9_buffers *buffers)
{
    if (!buffers)
        return;
    for (unsigned shift = 0; shift <= MAX_SHIFT; shift++) {
        while (buffers->stacks[shift]) {
            struct kept *kept = buffers->stacks[shift];

            buffers->stacks[shift] = kept->next;
            g_free(kept);
        }
    }
    pthread_mutex_destroy(&buffers->lock);
    g_free(buffers);
}

static unsigned shift_of(size_t size)
{
    unsigned shift = MIN_SHIFT;

    while (shift < MAX_SHIFT && ((size_t)1 << shift) < size)
        shift++;
    return shift;
}

uint8_t *p9_buffers_get(struct p9_buffers *buffers, size_t size)
{
    unsigned shift = shift_of(size);
    struct kept *kept;

    if (size > (size_t)1 << MAX_SHIFT)
        return NULL;
    pthread_mutex_lock(&buffers->lock);
    kept = buffers->stacks[shift];
    if (kept) {
        buffers->stacks[shift] = kept->next;
        buffers->bytes -= (size_t)1 << shift;
    }
    pthread_mutex_unlock(&buffers->lock);
    return kept ? (uint8_t *)kept : g_try_malloc((size_t)1 << shift);
}

void p9_buffers_put(struct p9_buffers *buffers, uint8_t *buffer, size_t size)
{
    unsigned shift = shift_of(size);
    struct kept *kept = (struct kept *)(void *)buffer;

    if (!buffer)
        return;
    pthread_mutex_lock(&buffers->lock);
    if (buffers->bytes + ((size_t)1 << shift) <= P9_BUFFERS_KEPT) {
        kept->next = buffers->stacks[shift];
        buffers->stacks[shift] = kept;
        buffers->bytes += (size_t)1 << shift;
        kept = NULL;
    }
    pthread_mutex_unlock(&buffers->lock);
    g_free(kept);
}
