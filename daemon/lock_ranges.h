/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_ranges - the bytes that a lock owner has locked.
 *
 * The host does not report a description's own locks. This record tells when
 * none is left.
 *
 * Threads: the owner locks.
 */
#ifndef DAEMON_LOCK_RANGES_H
#define DAEMON_LOCK_RANGES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum { LOCK_RANGES_MAX = 256 }; /* bounds the client's use of memory */

/* All 0: no locks. */
struct lock_ranges {
    GArray *ranges; /* NULL, or disjoint struct lock_range */
    bool more;      /* there were too many; unknown until all bytes are
                     * unlocked */
};

/* Record that the bytes from first to last (INT64_MAX: to the end) are locked,
 * or not.
 */
void lock_ranges_note(struct lock_ranges *ranges, uint64_t first, uint64_t last,
                      bool locked);

bool lock_ranges_is_empty(const struct lock_ranges *ranges);
void lock_ranges_clear(struct lock_ranges *ranges);

#endif
