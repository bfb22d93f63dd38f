/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_memory - see guest_memory.h.
 */
#include "virtiofs/vhost/guest_memory.h"

#include <errno.h>
#include <glib.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "virtiofs/vhost/fault_guard.h"

struct mapped_region {
    struct guest_region region;
    char *start;   /* of the region itself */
    void *mapping; /* what munmap() takes */
    size_t mapping_len;
};

struct guest_memory {
    unsigned n_regions; /* sorted by guest address */
    struct mapped_region regions[GUEST_MEMORY_MAX_REGIONS];
};

struct guest_memory *guest_memory_new(void)
{
    return g_new0(struct guest_memory, 1);
}

void guest_memory_free(struct guest_memory *memory)
{
    guest_memory_clear(memory);
    g_free(memory);
}

static void unmap(struct mapped_region *mapped)
{
    fault_guard_remove(mapped->mapping);
    munmap(mapped->mapping, mapped->mapping_len);
}

void guest_memory_clear(struct guest_memory *memory)
{
    for (unsigned i = 0; i < memory->n_regions; i++)
        unmap(&memory->regions[i]);
    memory->n_regions = 0;
}

static bool wraps(uint64_t start, uint64_t size)
{
    return size == 0 || start > UINT64_MAX - size;
}

static bool overlaps(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
    return a < b + b_size && b < a + a_size;
}

static int check_region(const struct guest_memory *memory,
                        const struct guest_region *region)
{
    if (wraps(region->guest_address, region->size) ||
        wraps(region->user_address, region->size) ||
        wraps(region->mmap_offset, region->size) ||
        region->mmap_offset + region->size > INT64_MAX)
        return -EINVAL;
    if (memory->n_regions == GUEST_MEMORY_MAX_REGIONS)
        return -ENOSPC;
    for (unsigned i = 0; i < memory->n_regions; i++) {
        const struct guest_region *other = &memory->regions[i].region;

        if (overlaps(region->guest_address, region->size, other->guest_address,
                     other->size))
            return -EINVAL;
    }
    return 0;
}

/* Huge pages can only be mapped and unmapped whole. */
static int file_page_size(int fd, uint64_t *ret_page)
{
    struct statfs fs;

    if (fstatfs(fd, &fs) != 0)
        return -errno;
    *ret_page = fs.f_type == HUGETLBFS_MAGIC ? (uint64_t)fs.f_bsize : 4096;
    return 0;
}

/* Map a region from the page that contains its start. Refuse a region beyond
 * the file's end, which would raise SIGBUS at its first use. */
static int map_region(const struct guest_region *region, int fd,
                      struct mapped_region *ret_mapped)
{
    struct stat st;
    uint64_t page = 0, skip, end;
    void *p;
    int r = file_page_size(fd, &page);

    if (r < 0)
        return r;
    if (fstat(fd, &st) != 0)
        return -errno;
    end = region->mmap_offset + region->size;
    if (S_ISREG(st.st_mode) && (uint64_t)st.st_size < end)
        return -EINVAL;
    skip = region->mmap_offset % page;
    p = mmap(NULL, skip + region->size, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_NORESERVE, fd,
             (off_t)(region->mmap_offset - skip));
    if (p == MAP_FAILED)
        return -errno;
    *ret_mapped = (struct mapped_region){
        .region = *region,
        .start = (char *)p + skip,
        .mapping = p,
        .mapping_len = (skip + region->size + page - 1) / page * page,
    };
    /* Keep guest memory out of core dumps. */
    madvise(p, ret_mapped->mapping_len, MADV_DONTDUMP);
    fault_guard_add(p, ret_mapped->mapping_len);
    return 0;
}

int guest_memory_add(struct guest_memory *memory,
                     const struct guest_region *region, int fd)
{
    struct mapped_region mapped;
    unsigned at = memory->n_regions;
    int r = check_region(memory, region);

    if (r < 0 || (r = map_region(region, fd, &mapped)) < 0)
        return r;
    while (at > 0 &&
           memory->regions[at - 1].region.guest_address > region->guest_address)
        at--;
    memmove(&memory->regions[at + 1], &memory->regions[at],
            (memory->n_regions - at) * sizeof(mapped));
    memory->regions[at] = mapped;
    memory->n_regions++;
    return 0;
}

int guest_memory_remove(struct guest_memory *memory,
                        const struct guest_region *region)
{
    for (unsigned i = 0; i < memory->n_regions; i++) {
        struct mapped_region *mapped = &memory->regions[i];

        if (mapped->region.guest_address != region->guest_address ||
            mapped->region.user_address != region->user_address ||
            mapped->region.size != region->size)
            continue;
        unmap(mapped);
        memory->n_regions--;
        memmove(mapped, mapped + 1, (memory->n_regions - i) * sizeof(*mapped));
        return 0;
    }
    return -ENOENT;
}

void *guest_memory_at(const struct guest_memory *memory, uint64_t address,
                      size_t *len)
{
    unsigned low = 0, high = memory->n_regions;

    while (low < high) {
        unsigned mid = (low + high) / 2;
        const struct mapped_region *mapped = &memory->regions[mid];
        uint64_t offset = address - mapped->region.guest_address;

        if (address < mapped->region.guest_address) {
            high = mid;
        } else if (offset >= mapped->region.size) {
            low = mid + 1;
        } else {
            *len = MIN(*len, mapped->region.size - offset);
            return mapped->start + offset;
        }
    }
    return NULL;
}

void *guest_memory_at_user(const struct guest_memory *memory, uint64_t address,
                           size_t len)
{
    for (unsigned i = 0; i < memory->n_regions; i++) {
        const struct mapped_region *mapped = &memory->regions[i];
        uint64_t offset = address - mapped->region.user_address;

        if (address >= mapped->region.user_address &&
            offset < mapped->region.size && len <= mapped->region.size - offset)
            return mapped->start + offset;
    }
    return NULL;
}

bool guest_memory_address_of(const struct guest_memory *memory, const void *p,
                             uint64_t *ret_address)
{
    for (unsigned i = 0; i < memory->n_regions; i++) {
        const struct mapped_region *mapped = &memory->regions[i];
        uintptr_t start = (uintptr_t)mapped->start;

        if ((uintptr_t)p < start || (uintptr_t)p - start >= mapped->region.size)
            continue;
        *ret_address = mapped->region.guest_address + ((uintptr_t)p - start);
        return true;
    }
    return false;
}
