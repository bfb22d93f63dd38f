/* SPDX-License-Identifier: Apache-2.0
 *
 * lock_ranges - see lock_ranges.h.
 */
#include "daemon/lock_ranges.h"

struct lock_range {
    uint64_t first, last;
};

static void add(struct lock_ranges *ranges, uint64_t first, uint64_t last)
{
    struct lock_range range = { first, last };

    if (!ranges->ranges)
        ranges->ranges = g_array_new(FALSE, FALSE, sizeof(range));
    if (ranges->ranges->len < LOCK_RANGES_MAX)
        g_array_append_val(ranges->ranges, range);
    else
        ranges->more = true;
}

/* Remove the bytes from first to last. The remainders of split ranges are
 * appended. */
static void cut(struct lock_ranges *ranges, uint64_t first, uint64_t last)
{
    for (guint i = ranges->ranges ? ranges->ranges->len : 0; i > 0; i--) {
        struct lock_range old = g_array_index(ranges->ranges, struct lock_range,
                                              i - 1);

        if (old.last < first || old.first > last)
            continue;
        g_array_remove_index_fast(ranges->ranges, i - 1);
        if (old.first < first)
            add(ranges, old.first, first - 1);
        if (old.last > last)
            add(ranges, last + 1, old.last);
    }
}

void lock_ranges_note(struct lock_ranges *ranges, uint64_t first, uint64_t last,
                      bool locked)
{
    if (first == 0 && last >= INT64_MAX)
        lock_ranges_clear(ranges);
    else
        cut(ranges, first, last);
    if (locked)
        add(ranges, first, last);
}

bool lock_ranges_is_empty(const struct lock_ranges *ranges)
{
    return !ranges->more && (!ranges->ranges || ranges->ranges->len == 0);
}

void lock_ranges_clear(struct lock_ranges *ranges)
{
    g_clear_pointer(&ranges->ranges, g_array_unref);
    ranges->more = false;
}
