/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_memory - the guest's memory, as the front-end shares it.
 *
 * Up to GUEST_MEMORY_MAX_REGIONS mappings, each with two addresses: the
 * guest's physical one, which descriptors use, and the front-end's virtual
 * one, which the front-end uses for the rings. Nothing outside the regions is
 * ever reached.
 *
 * Threads: lookups may run together, changes alone; the owner locks.
 */
#ifndef VIRTIOFS_VHOST_GUEST_MEMORY_H
#define VIRTIOFS_VHOST_GUEST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "virtiofs/vhost/fault_guard.h"

/* The log of what is dirty is two more ranges, while it is changed. */
enum { GUEST_MEMORY_MAX_REGIONS = FAULT_GUARD_MAX - 2 };

/* As on the wire (VHOST_USER_SET_MEM_TABLE, ..._ADD_MEM_REG). */
struct guest_region {
    uint64_t guest_address;
    uint64_t size;
    uint64_t user_address;
    uint64_t mmap_offset;
};

struct guest_memory;

struct guest_memory *guest_memory_new(void);
void guest_memory_free(struct guest_memory *memory);

/* Map a region of fd (borrowed; may be closed afterwards). 0 or -errno:
 * -EINVAL for a region that wraps, overlaps another, or is longer than the
 * file, -ENOSPC for one too many. */
int guest_memory_add(struct guest_memory *memory,
                     const struct guest_region *region, int fd);

/* Unmap the region with these addresses and size: -ENOENT if there is none. */
int guest_memory_remove(struct guest_memory *memory,
                        const struct guest_region *region);

void guest_memory_clear(struct guest_memory *memory);

/* The memory at a guest address. *len is cut to what is contiguous here; NULL
 * if nothing is there. */
void *guest_memory_at(const struct guest_memory *memory, uint64_t address,
                      size_t *len);

/* len bytes at an address of the front-end, all in one region, or NULL. */
void *guest_memory_at_user(const struct guest_memory *memory, uint64_t address,
                           size_t len);

/* The guest address of a pointer into a region. */
bool guest_memory_address_of(const struct guest_memory *memory, const void *p,
                             uint64_t *ret_address);

#endif
