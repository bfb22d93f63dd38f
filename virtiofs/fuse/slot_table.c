/* SPDX-License-Identifier: Apache-2.0
 *
 * slot_table - see slot_table.h.
 *
 * A slot's state is one atomic word: generation (32 bits), a dead bit, and the
 * number of pins (31 bits). The table itself owns one pin from insert to
 * remove. get() adds a pin only while the generation matches, the slot is not
 * dead and a pin exists; the thread that drops the last pin destroys the
 * object, increments the generation and frees the slot. Slots are in chunks
 * that never move and are never freed, so that a lookup may race with growth.
 *
 * lock: free_head, n_slots, and the creation of chunks.
 */
#include "virtiofs/fuse/slot_table.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>

#define CHUNK_SLOTS 1024u
#define MAX_CHUNKS  16384u
#define NO_SLOT     UINT32_MAX

#define PINS_MASK  0x7fffffffull
#define DEAD       0x80000000ull
#define GENERATION 32

struct slot {
    _Atomic uint64_t state;
    void *object;
    uint32_t next_free;
};

struct slot_table {
    void (*destroy)(void *object);
    pthread_mutex_t lock;
    uint32_t free_head;
    uint32_t n_slots;
    struct slot *_Atomic chunks[MAX_CHUNKS];
};

struct slot_table *slot_table_new(void (*destroy)(void *object))
{
    struct slot_table *table = g_new0(struct slot_table, 1);

    table->destroy = destroy;
    table->free_head = NO_SLOT;
    pthread_mutex_init(&table->lock, NULL);
    return table;
}

void slot_table_free(struct slot_table *table)
{
    if (!table)
        return;
    slot_table_clear(table, 1);
    for (unsigned i = 0; i < MAX_CHUNKS; i++)
        g_free(atomic_load(&table->chunks[i]));
    pthread_mutex_destroy(&table->lock);
    g_free(table);
}

static struct slot *slot_at(struct slot_table *table, uint32_t index)
{
    struct slot *chunk;

    if (index / CHUNK_SLOTS >= MAX_CHUNKS)
        return NULL;
    chunk = atomic_load_explicit(&table->chunks[index / CHUNK_SLOTS],
                                 memory_order_acquire);
    return chunk ? &chunk[index % CHUNK_SLOTS] : NULL;
}

/* An id is generation and index, plus 1: the first id is 1, and 0 is never an
 * id. */
static uint64_t make_id(uint32_t generation, uint32_t index)
{
    return ((uint64_t)generation << GENERATION | index) + 1;
}

static struct slot *find_slot(struct slot_table *table, uint64_t id,
                              uint32_t *ret_generation)
{
    id--;
    *ret_generation = (uint32_t)(id >> GENERATION);
    return slot_at(table, (uint32_t)id);
}

static int take_free_slot(struct slot_table *table, uint32_t *ret_index)
{
    uint32_t index = table->free_head;

    if (index != NO_SLOT) {
        table->free_head = slot_at(table, index)->next_free;
        *ret_index = index;
        return 0;
    }
    index = table->n_slots;
    if (index / CHUNK_SLOTS >= MAX_CHUNKS)
        return -ENFILE;
    if (index % CHUNK_SLOTS == 0) {
        struct slot *chunk = g_try_new0(struct slot, CHUNK_SLOTS);

        if (!chunk)
            return -ENFILE;
        atomic_store_explicit(&table->chunks[index / CHUNK_SLOTS], chunk,
                              memory_order_release);
    }
    table->n_slots++;
    *ret_index = index;
    return 0;
}

int slot_table_insert(struct slot_table *table, void *object, uint64_t *own_id,
                      uint64_t *ret_id)
{
    struct slot *slot;
    uint32_t index = 0;
    uint64_t state;
    int r;

    pthread_mutex_lock(&table->lock);
    r = take_free_slot(table, &index);
    pthread_mutex_unlock(&table->lock);
    if (r < 0)
        return r;
    slot = slot_at(table, index);
    slot->object = object;
    state = atomic_load_explicit(&slot->state, memory_order_relaxed);
    /* Set the id first: a client that guesses ids may find the object at
     * once. */
    *own_id = *ret_id = make_id((uint32_t)(state >> GENERATION), index);
    /* Free slots have no pins and are not dead; this store publishes the
     * slot. */
    atomic_store_explicit(&slot->state, state + 1, memory_order_release);
    return 0;
}

void *slot_table_get(struct slot_table *table, uint64_t id)
{
    uint32_t generation;
    struct slot *slot = find_slot(table, id, &generation);
    uint64_t state;

    if (!slot)
        return NULL;
    state = atomic_load_explicit(&slot->state, memory_order_relaxed);
    do {
        if ((uint32_t)(state >> GENERATION) != generation || (state & DEAD) ||
            (state & PINS_MASK) == 0)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(
        &slot->state, &state, state + 1, memory_order_acquire,
        memory_order_relaxed));
    return slot->object;
}

void slot_table_put(struct slot_table *table, uint64_t id)
{
    uint32_t generation;
    struct slot *slot = find_slot(table, id, &generation);
    uint64_t before = atomic_fetch_sub_explicit(&slot->state, 1,
                                                memory_order_acq_rel);

    if ((before & PINS_MASK) != 1)
        return;
    table->destroy(slot->object);
    slot->object = NULL;
    atomic_store_explicit(&slot->state,
                          (uint64_t)(generation + 1) << GENERATION,
                          memory_order_release);
    pthread_mutex_lock(&table->lock);
    slot->next_free = table->free_head;
    table->free_head = (uint32_t)(id - 1);
    pthread_mutex_unlock(&table->lock);
}

bool slot_table_remove(struct slot_table *table, uint64_t id)
{
    uint32_t generation;
    struct slot *slot = find_slot(table, id, &generation);
    uint64_t state;

    if (!slot)
        return false;
    state = atomic_load_explicit(&slot->state, memory_order_relaxed);
    do {
        /* Two removals of one id may race; only one drops the pin. */
        if ((uint32_t)(state >> GENERATION) != generation || (state & DEAD) ||
            (state & PINS_MASK) == 0)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &slot->state, &state, state | DEAD, memory_order_acq_rel,
        memory_order_relaxed));
    slot_table_put(table, id);
    return true;
}

static uint32_t count_slots(struct slot_table *table)
{
    uint32_t n;

    pthread_mutex_lock(&table->lock);
    n = table->n_slots;
    pthread_mutex_unlock(&table->lock);
    return n;
}

/* Return the id of the slot's object; there may be none. */
static uint64_t current_id(struct slot_table *table, uint32_t index)
{
    uint64_t state = atomic_load(&slot_at(table, index)->state);

    return make_id((uint32_t)(state >> GENERATION), index);
}

bool slot_table_some(struct slot_table *table, uint32_t *inout_slot,
                     uint32_t n_slots, void (*each)(void *object, void *opaque),
                     void *opaque)
{
    uint32_t n = count_slots(table), first = MIN(*inout_slot, n);
    uint32_t end = first + MIN(n_slots, n - first);

    for (uint32_t i = first; i < end; i++) {
        uint64_t id = current_id(table, i);
        void *object = slot_table_get(table, id);

        if (!object)
            continue;
        each(object, opaque);
        slot_table_put(table, id);
    }
    *inout_slot = end;
    return end < n;
}

void slot_table_each(struct slot_table *table,
                     void (*each)(void *object, void *opaque), void *opaque)
{
    uint32_t first = 0;

    slot_table_some(table, &first, UINT32_MAX, each, opaque);
}

void slot_table_clear(struct slot_table *table, uint64_t first)
{
    uint32_t n = count_slots(table);

    for (uint32_t i = (uint32_t)(first - 1); i < n; i++)
        slot_table_remove(table, current_id(table, i));
}
