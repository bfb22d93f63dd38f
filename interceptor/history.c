/* SPDX-License-Identifier: Apache-2.0
 *
 * history - what the undo log holds, for those who ask.
 */
#include "common/fd.h"
#include "interceptor/engine.h"
#include "interceptor/report.h"
#include "interceptor/steps.h"

static void free_info(gpointer info)
{
    ic_step_info_free(info);
}

GPtrArray *ic_history(struct ic *ic, unsigned limit, GError **error)
{
    g_autoptr(GPtrArray) infos = g_ptr_array_new_with_free_func(free_info);
    const struct undo_log_entry *entries;
    size_t count;

    pthread_rwlock_wrlock(&ic->gate);
    if (!steps_check_log(ic, error)) {
        pthread_rwlock_unlock(&ic->gate);
        return NULL;
    }
    entries = undo_log_entries(ic->log, &count);
    for (size_t i = count; i > 0 && infos->len < limit; i--) {
        fd_auto int dir = undo_log_open_step(ic->log, entries[i - 1].id);
        g_autoptr(step_auto) step = NULL;

        if (dir >= 0 && !entries[i - 1].damaged &&
            step_load_summary(dir, &step) == 0)
            g_ptr_array_add(infos, report_from_step(step));
        else
            g_ptr_array_add(infos, report_of_damaged(entries[i - 1].id));
    }
    pthread_rwlock_unlock(&ic->gate);
    return g_steal_pointer(&infos);
}

int64_t ic_last_step_id(struct ic *ic)
{
    int64_t id;

    pthread_rwlock_wrlock(&ic->gate);
    id = steps_last_id(ic);
    if (ic->wal.step)
        id = MAX(id, ic->wal.step->id);
    pthread_rwlock_unlock(&ic->gate);
    return id;
}

unsigned ic_redoable(struct ic *ic)
{
    size_t count = 0;

    pthread_rwlock_wrlock(&ic->gate);
    if (ic->log)
        undo_log_redos(ic->log, &count);
    pthread_rwlock_unlock(&ic->gate);
    return (unsigned)count;
}

struct ic_step_info *ic_recovered(struct ic *ic)
{
    return g_steal_pointer(&ic->recovered);
}
