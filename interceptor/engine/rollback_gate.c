/* SPDX-License-Identifier: Apache-2.0
 *
 * rollback_gate - see rollback_gate.h.
 */
#include "interceptor/engine/rollback_gate.h"

#include "common/errors.h"
#include "interceptor/engine/parking.h"
#include "interceptor/engine/stale.h"
#include "interceptor/sys/clock.h"

enum { TOLD_IDS = 20 };

void rollback_lock_gate(struct ic *ic)
{
    parking_begin_rollback(&ic->parking);
    pthread_rwlock_wrlock(&ic->gate);
    inode_table_begin_move(ic->inodes);
}

void rollback_unlock_gate(struct ic *ic)
{
    GArray *stale = stale_take(ic);

    inode_table_end_move(ic->inodes);
    atomic_store(&ic->last_leave_ms, clock_ms());
    pthread_rwlock_unlock(&ic->gate);
    parking_end_rollback(&ic->parking);
    stale_tell(ic, stale); /* once parked changes may continue */
}

void rollback_tell_part(const struct ic_rollback_result *result, unsigned steps,
                        const char *done, int64_t id, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint count = result->steps->len;

    for (guint i = 0; i < MIN(count, TOLD_IDS); i++) {
        const struct ic_step_info *info = g_ptr_array_index(result->steps, i);

        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i ? ", " : "",
                               info->id);
    }
    g_string_append_printf(text, "%s);", count > TOLD_IDS ? ", ..." : "");
    if (id)
        g_string_append_printf(text, " step %" G_GINT64_FORMAT ":", id);
    if (count > 0)
        g_prefix_error(error, "%u of %u steps %s (%s ", count, steps, done,
                       text->str);
}

int rollback_record_code(int rc)
{
    return undo_log_is_damage(rc) ? ERROR_PREIMAGE_CORRUPT : ERROR_IO_ERROR;
}
