/* SPDX-License-Identifier: Apache-2.0
 *
 * dirty_log - the bitmap of guest pages that the device wrote, while a
 * front-end migrates the guest (VHOST_F_LOG_ALL). One bit for each page of 4
 * KiB.
 *
 * Threads: dirty_log_mark() may run concurrently; all other calls need the
 * owner's exclusive lock.
 */
#ifndef VIRTIOFS_VHOST_DIRTY_LOG_H
#define VIRTIOFS_VHOST_DIRTY_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dirty_log {
    unsigned char *bits; /* NULL: no log */
    size_t size;         /* bytes */
    void *mapping;
    size_t mapping_len;
    bool enabled; /* the front-end negotiated LOG_ALL */
};

/* Map size bytes of fd (borrowed) in place of the current log. Return 0 or
 * -errno. */
int dirty_log_map(struct dirty_log *log, int fd, uint64_t offset,
                  uint64_t size);

void dirty_log_unmap(struct dirty_log *log);

static inline bool dirty_log_is_on(const struct dirty_log *log)
{
    return log->enabled && log->bits;
}

/* Mark the pages of the guest addresses from address on, len bytes. */
void dirty_log_mark(struct dirty_log *log, uint64_t address, uint64_t len);

#endif
