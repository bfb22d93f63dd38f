/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_memory - the guest's memory, as the front-end shares it.
 *
 * Up to GUEST_MEMORY_MAX_REGIONS mappings, each with two addresses: the guest's
 * physical one, which descriptors use, and the front-end's virtual one, which
 * the front-end uses for the rings. No access reaches outside the regions.
 *
 * Threads: lookups may run concurrently; changes need the owner's exclusive
 * lock.
 */
#ifndef VIRTIOFS_VHOST_GUEST_MEMORY_H
#define VIRTIOFS_VHOST_GUEST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "virtiofs/vhost/fault_guard.h"

/* While it is being replaced, the dirty log needs two more ranges. */
enum { GUEST_MEMORY_MAX_REGIONS = FAULT_GUARD_MAX - 2 };

/* The wire format of VHOST_USER_SET_MEM_TABLE and VHOST_USER_ADD_MEM_REG. */
struct guest_region {
    uint64_t guest_address;
    uint64_t size;
    uint64_t user_address;
    uint64_t mmap_offset;
};

struct guest_memory;

struct guest_memory *guest_memory_new(void);
void guest_memory_free(struct guest_memory *memory);

/* Map a region of fd (borrowed; may be closed afterwards). Return 0 or -errno:
 * -EINVAL for a region that wraps, overlaps another, or is longer than the
 * file, -ENOSPC for one too many. */
int guest_memory_add(struct guest_memory *memory,
                     const struct guest_region *region, int fd);

/* Unmap the region with these addresses and size. Return -ENOENT if there is
 * none. */
int guest_memory_remove(struct guest_memory *memory,
                        const struct guest_region *region);

void guest_memory_clear(struct guest_memory *memory);

/* Return the memory at a guest address, or NULL if none is mapped there. *len
 * is reduced to the contiguous part. */
void *guest_memory_at(const struct guest_memory *memory, uint64_t address,
                      size_t *len);

/* Return len bytes at a front-end address, all in one region, or NULL. */
void *guest_memory_at_user(const struct guest_memory *memory, uint64_t address,
                           size_t len);

/* Convert a pointer into a region to its guest address. */
bool guest_memory_address_of(const struct guest_memory *memory, const void *p,
                             uint64_t *ret_address);

#endif
