/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback_extent - see rollback_extent.h.
 */
#include "interceptor/engine/rollback_extent.h"

bool rollback_does_count(const struct undo_log_entry *entry,
                         enum rollback_counts counts)
{
    return counts == ROLLBACK_COUNTS_ALL ||
           (!entry->unchanged &&
            (counts == ROLLBACK_COUNTS_CHANGES || entry->id > 0));
}
