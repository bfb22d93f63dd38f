/* SPDX-License-Identifier: Apache-2.0
 *
 * slot_table - ids that an untrusted client may name.
 *
 * Objects get a 64-bit id: 32 bits of slot number and 32 of generation, which
 * grows each time the slot is used again. A stale or invented id is not found;
 * it never reaches another object or freed memory. The first id given out is
 * 1, and 0 is never one.
 *
 * An object lives until it was removed and the last slot_table_get() of it was
 * given back.
 *
 * Threads: every call by any thread, but slot_table_free(). get and put take
 * no lock.
 */
#ifndef VIRTIOFS_FUSE_SLOT_TABLE_H
#define VIRTIOFS_FUSE_SLOT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct slot_table;

/* destroy is called with each object that ends its life, by the thread that
 * ends it. */
struct slot_table *slot_table_new(void (*destroy)(void *object));

/* Destroys the objects that are left. NULL is allowed. */
void slot_table_free(struct slot_table *table);

/* Give the object (taken) an id. 0 or -ENFILE; on failure it is the caller's
 * still. own_id lies in the object, and is set before it can be found; ret_id
 * may be used though another thread has ended it already. */
int slot_table_insert(struct slot_table *table, void *object, uint64_t *own_id,
                      uint64_t *ret_id);

/* The object with this id, or NULL. Give it back with slot_table_put(). */
void *slot_table_get(struct slot_table *table, uint64_t id);
void slot_table_put(struct slot_table *table, uint64_t id);

/* End the id: it is not found from now on. False if it was not there. */
bool slot_table_remove(struct slot_table *table, uint64_t id);

/* End all ids from first on. */
void slot_table_clear(struct slot_table *table, uint64_t first);

#endif
