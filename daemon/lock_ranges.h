/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_ranges - which bytes an owner of locks holds.
 *
 * The host tells nobody what a description has locked itself. This is to know
 * when that is nothing any more.
 *
 * Threads: the owner locks.
 */
#ifndef DAEMON_LOCK_RANGES_H
#define DAEMON_LOCK_RANGES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum { LOCK_RANGES_MAX = 256 }; /* a client chooses how many there are */

/* All 0: nothing. */
struct lock_ranges {
    GArray *ranges; /* NULL, or of struct lock_range; none meets another */
    bool more;      /* there were too many: until all is unlocked, who knows */
};

/* The bytes from first to last (INT64_MAX: to the end) are locked now, or not.
 */
void lock_ranges_note(struct lock_ranges *ranges, uint64_t first, uint64_t last,
                      bool locked);

bool lock_ranges_is_empty(const struct lock_ranges *ranges);
void lock_ranges_clear(struct lock_ranges *ranges);

#endif
