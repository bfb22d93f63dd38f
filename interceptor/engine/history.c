/* SPDX-License-Identifier: Apache-2.0
 *
 * history - list the steps in the undo log.
 */
#include "common/fd.h"
#include "interceptor/engine/core.h"
#include "interceptor/engine/folder.h"
#include "interceptor/engine/steps_check.h"
#include "interceptor/report/report.h"

static void free_info(gpointer info)
{
    ic_step_info_free(info);
}

/* dir: of the step or its inverse. id: for an unreadable record. */
static struct ic_step_info *describe(struct ic *ic, int dir, int64_t id)
{
    g_autoptr(step_auto) step = NULL;

    return dir < 0 || step_load_summary(dir, &step) != 0
               ? report_of_damaged(id)
               : folder_report(ic, step);
}

static void add_steps(struct ic *ic, GPtrArray *infos, unsigned limit)
{
    size_t count;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);
    int64_t blocking = 0;

    for (size_t i = count; i > 0 && infos->len < limit; i--) {
        const struct undo_log_entry *entry = &entries[i - 1];
        fd_auto int dir = entry->damaged
                              ? -1
                              : undo_log_open_step(ic->log, entry->id);
        struct ic_step_info *info = describe(ic, dir, entry->id);

        info->below = blocking;
        info->undoable &= blocking == 0;
        if (blocking == 0 && entry->unprotected)
            blocking = entry->id;
        g_ptr_array_add(infos, info);
    }
}

static void add_redos(struct ic *ic, GPtrArray *infos, unsigned limit)
{
    size_t count;
    const int64_t *seqs = undo_log_redos(ic->log, &count);

    for (size_t i = count; i > 0 && infos->len < limit; i--) {
        fd_auto int dir = undo_log_open_redo(ic->log, seqs[i - 1]);
        struct ic_step_info *info = describe(ic, dir, 0);

        info->undoable = false; /* it is undone already */
        g_ptr_array_add(infos, info);
    }
}

static GPtrArray *collect(struct ic *ic, unsigned limit,
                          void (*add)(struct ic *ic, GPtrArray *infos,
                                      unsigned limit),
                          GError **error)
{
    GPtrArray *infos = NULL;

    pthread_rwlock_wrlock(&ic->gate);
    if (core_check_log(ic, error)) {
        infos = g_ptr_array_new_with_free_func(free_info);
        add(ic, infos, limit);
    }
    pthread_rwlock_unlock(&ic->gate);
    return infos;
}

GPtrArray *ic_history(struct ic *ic, unsigned limit, GError **error)
{
    return collect(ic, limit, add_steps, error);
}

GPtrArray *ic_redo_history(struct ic *ic, unsigned limit, GError **error)
{
    return collect(ic, limit, add_redos, error);
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
