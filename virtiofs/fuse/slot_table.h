/* SPDX-License-Identifier: Apache-2.0
 *
 * slot_table - ids that an untrusted client may name.
 *
 * Objects get a 64-bit id: 32 bits of slot number and 32 of generation, which
 * grows each time the slot is reused. A stale or invented id is not found; it
 * never reaches another object or freed memory. The first id is 1, and 0 is
 * never an id.
 *
 * An object lives until it was removed and the last slot_table_get() of it was
 * put.
 *
 * Threads: any thread may make any call, except slot_table_free(). get and put
 * take no lock.
 */
#ifndef VIRTIOFS_FUSE_SLOT_TABLE_H
#define VIRTIOFS_FUSE_SLOT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct slot_table;

/* destroy is called with each object at the end of its life, by the thread that
 * drops the last pin. */
struct slot_table *slot_table_new(void (*destroy)(void *object));

/* Destroys the remaining objects. NULL is allowed. */
void slot_table_free(struct slot_table *table);

/* Give the object (taken) an id. Return 0 or -ENFILE; on failure the caller
 * keeps the object. own_id lies in the object and is set before the object can
 * be found; ret_id stays valid even if another thread has already removed the
 * object. */
int slot_table_insert(struct slot_table *table, void *object, uint64_t *own_id,
                      uint64_t *ret_id);

/* Return the object with this id, or NULL. Release it with slot_table_put(). */
void *slot_table_get(struct slot_table *table, uint64_t id);
void slot_table_put(struct slot_table *table, uint64_t id);

/* Remove the id: it is not found from now on. Return false if there was
 * none. */
bool slot_table_remove(struct slot_table *table, uint64_t id);

/* Call each with all objects; those that are inserted or removed meanwhile may
 * be left out. */
void slot_table_each(struct slot_table *table,
                     void (*each)(void *object, void *opaque), void *opaque);

/* The same with at most n_slots slots from *inout_slot on (0: the first), which
 * becomes the next one. Return false after the last. */
bool slot_table_some(struct slot_table *table, uint32_t *inout_slot,
                     uint32_t n_slots, void (*each)(void *object, void *opaque),
                     void *opaque);

/* Remove all ids from first on. */
void slot_table_clear(struct slot_table *table, uint64_t first);

#endif
