/* SPDX-License-Identifier: Apache-2.0
 *
 * dirty_log - see dirty_log.h.
 */
#include "virtiofs/vhost/dirty_log.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "virtiofs/vhost/fault_guard.h"

#define LOG_PAGE 4096u

int dirty_log_map(struct dirty_log *log, int fd, uint64_t offset, uint64_t size)
{
    uint64_t skip = offset % LOG_PAGE;
    struct stat st;
    void *p;

    if (size == 0 || size > INT64_MAX / 2 || offset > INT64_MAX / 2)
        return -EINVAL;
    if (fstat(fd, &st) != 0)
        return -errno;
    if (S_ISREG(st.st_mode) && (uint64_t)st.st_size < offset + size)
        return -EINVAL;
    p = mmap(NULL, skip + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
             (off_t)(offset - skip));
    if (p == MAP_FAILED)
        return -errno;
    dirty_log_unmap(log);
    log->mapping = p;
    log->mapping_len = skip + size;
    log->bits = (unsigned char *)p + skip;
    log->size = size;
    fault_guard_add(log->mapping, log->mapping_len);
    return 0;
}

void dirty_log_unmap(struct dirty_log *log)
{
    if (log->bits) {
        fault_guard_remove(log->mapping);
        munmap(log->mapping, log->mapping_len);
    }
    log->bits = NULL;
    log->size = 0;
}

void dirty_log_mark(struct dirty_log *log, uint64_t address, uint64_t len)
{
    uint64_t page, last;

    if (!dirty_log_is_on(log) || len == 0 || address > UINT64_MAX - len)
        return;
    last = (address + len - 1) / LOG_PAGE;
    for (page = address / LOG_PAGE; page <= last; page++) {
        if (page / 8 >= log->size)
            return;
        /* Atomic: the front-end clears bits concurrently. */
        __atomic_fetch_or(&log->bits[page / 8], (unsigned char)(1u << page % 8),
                          __ATOMIC_SEQ_CST);
    }
}
