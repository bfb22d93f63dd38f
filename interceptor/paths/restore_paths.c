/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_paths - see restore_paths.h.
 */
#include "interceptor/paths/restore_paths.h"

#include <errno.h>
#include <inttypes.h>

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/engine/ambient.h"
#include "interceptor/engine/core.h"
#include "interceptor/engine/outside.h"
#include "interceptor/engine/parking.h"
#include "interceptor/engine/restoring.h"
#include "interceptor/engine/rollback_gate.h"
#include "interceptor/engine/steps.h"
#include "interceptor/engine/steps_check.h"
#include "interceptor/mutate/write_file.h"
#include "interceptor/paths/paths_apply.h"
#include "interceptor/paths/paths_outside.h"
#include "interceptor/paths/paths_plan.h"
#include "interceptor/report/report.h"

/* The begin of the text in the history, and its approximate limit. */
#define COMMAND "undo --step="
enum { COMMAND_BYTES = 1000 };

/* ---- planning ------------------------------------------------------------ */

static bool is_restore(struct ic *ic, int64_t id)
{
    fd_auto int dir = undo_log_open_step(ic->log, id);
    g_autoptr(step_auto) step = NULL;

    return dir >= 0 && step_load_summary(dir, &step) == 0 &&
           step->type == IC_STEP_API && step->command &&
           g_str_has_prefix(step->command, COMMAND);
}

/* Find how many of the newest steps the extent has. Earlier restores are none
 * of the commands that it counts, as long as there are others. */
static gboolean count_steps(struct ic *ic, const struct rollback_extent *extent,
                            size_t *ret_steps, GError **error)
{
    struct rollback_extent wider = *extent;
    size_t count, restores = 0, looked = 0;
    const struct undo_log_entry *entries = undo_log_entries(ic->log, &count);
    unsigned steps;

    for (;;) {
        wider.steps = extent->steps + (unsigned)restores;
        if (!rollback_count_steps(ic, &wider, &steps, error))
            return FALSE;
        *ret_steps = steps;
        if (steps > count && extent->steps <= count)
            *ret_steps = count;
        if (extent->down_to || *ret_steps > count)
            return TRUE;
        for (; looked < *ret_steps; looked++)
            restores += is_restore(ic, entries[count - 1 - looked].id);
        if (wider.steps == extent->steps + restores || *ret_steps == count)
            return TRUE;
    }
}

static gboolean find_step(struct ic *ic, const struct rollback_extent *extent,
                          int64_t *ret_id, GError **error)
{
    const struct undo_log_entry *entries;
    size_t count, steps;

    if (!count_steps(ic, extent, &steps, error))
        return FALSE;
    entries = undo_log_entries(ic->log, &count);
    if (count == 0 && steps > 0) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                            "there is nothing to undo");
        return FALSE;
    }
    if (steps == 0 || steps > count) {
        g_set_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                    "the history has %zu steps, not %zu", count, steps);
        return FALSE;
    }
    *ret_id = entries[count - steps].id;
    return TRUE;
}

static gboolean plan_locked(struct ic *ic, const struct rollback_extent *extent,
                            const struct ic_restore *request,
                            struct ic_rollback_result *result,
                            struct paths_plan *plan, GError **error)
{
    int64_t id = request->step_id;

    return core_check_log(ic, error) && steps_check_none(ic, error) &&
           ambient_close_locked(ic, error) && steps_check_finished(ic, error) &&
           (!extent || find_step(ic, extent, &id, error)) &&
           paths_plan_make(ic, id, request->paths, request->n, plan, error) &&
           paths_outside_check(plan, request->force, result, error);
}

static void warn_shared(const struct paths_plan *plan,
                        struct ic_rollback_result *result)
{
    for (guint i = 0; i < plan->shared->len; i++) {
        g_autofree char *shown = g_utf8_make_valid(
            g_ptr_array_index(plan->shared, i), -1);

        outside_warn(
            result, g_strdup_printf("%s: the file also changes under its other "
                                    "names (hard links)",
                                    shown));
    }
}

/* ---- describing the step ------------------------------------------------- */

static enum ic_change_type type_of(const struct paths_node *node)
{
    if (!node->exists)
        return IC_CREATED;
    if (!node->then)
        return IC_DELETED;
    return node->changes & ~(unsigned)PATHS_META ? IC_MODIFIED : IC_METADATA;
}

static void add_change(const struct paths_node *node, void *opaque)
{
    struct ic_step_info *info = opaque;
    struct ic_change *change;
    enum ic_change_type type = type_of(node);

    if (node->changes == PATHS_TIME) /* as in the report of a step */
        return;
    info->affected++;
    info->counts[type]++;
    if (info->changes->len == REPORT_MAX_CHANGES)
        return;
    change = g_new0(struct ic_change, 1);
    change->type = type;
    change->path = paths_node_path(node);
    change->size_before = node->exists && S_ISREG(node->mode) ? node->size_now
                                                              : -1;
    change->size_after = node->then && S_ISREG(node->then->mode) ? node->size
                                                                 : -1;
    g_ptr_array_add(info->changes, change);
}

/* Describe the step for a preview. */
static struct ic_step_info *describe(const struct ic *ic,
                                     const struct paths_plan *plan,
                                     const char *command)
{
    g_autoptr(step_auto)
        step = step_new(0, 0, IC_STEP_API, command, ic->root->ino);
    struct ic_step_info *info = report_new(step);

    paths_plan_each_change(plan, add_change, info);
    info->undoable = true;
    return info;
}

static char *make_command(const struct paths_plan *plan,
                          const struct ic_restore *request)
{
    const struct step *oldest = g_ptr_array_index(plan->past.steps, 0);
    g_autoptr(GString) text = g_string_new(NULL);
    size_t i = 0;

    g_string_printf(text, COMMAND "%" PRId64 " --", oldest->id);
    for (; i < request->n && text->len < COMMAND_BYTES; i++) {
        g_autofree char *shown = g_utf8_make_valid(request->paths[i], -1);

        g_string_append_printf(text, " %s", shown);
    }
    if (i < request->n)
        g_string_append_printf(text, " and %zu more", request->n - i);
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void add_path(const struct paths_node *node, void *opaque)
{
    g_ptr_array_add(opaque, paths_node_path(node));
}

/* ---- the step ------------------------------------------------------------ */

/* Report why the step is aborted, unless the abort itself fails: that is worse.
 */
static gboolean abort_step(struct ic *ic, int64_t id, GError **error,
                           GError *cause)
{
    g_autoptr(GError) failure = NULL;

    if (ic_step_abort(ic, id, &failure)) {
        g_propagate_error(error, cause);
        return FALSE;
    }
    g_propagate_prefixed_error(error, g_steal_pointer(&failure), "%s; and ",
                               cause->message);
    g_error_free(cause);
    return FALSE;
}

/* Changes that a client makes at this moment belong to the step, too, and may
 * be denied: then the step is rolled back. */
static gboolean close_step(struct ic *ic, int64_t id,
                           struct ic_rollback_result *result, GError **error)
{
    struct ic_step_info *info;
    GError *cause = NULL;

    if (!ic_step_close(ic, id, 0, 0, 0, &info, &cause))
        return abort_step(ic, id, error, cause);
    if (info->denied) {
        ic_step_info_free(info);
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_DENIED,
                            "a concurrent change by a client was denied; "
                            "nothing was restored; try again");
        return FALSE;
    }
    g_ptr_array_add(result->steps, info);
    return TRUE;
}

static gboolean run_step(struct ic *ic, struct paths_plan *plan,
                         const struct ic_restore *request,
                         struct ic_rollback_result *result, GError **error)
{
    g_autofree char *command = make_command(plan, request);
    int64_t id = request->new_id ? request->new_id : ic_last_step_id(ic) + 1;
    bool restored = restoring_set(true), waited = parking_thread_waits(true);
    GError *cause = NULL;
    gboolean ok = ic_step_open(ic, id, IC_STEP_API, command, error);

    if (ok) {
        ok = paths_apply(ic, plan, result->warnings, &cause);
        /* Free the space before the step is aborted or limits are applied. */
        past_spool_clear(&plan->spool);
        ok = ok ? close_step(ic, id, result, error)
                : abort_step(ic, id, error, cause);
    }
    parking_thread_waits(waited);
    restoring_set(restored);
    return ok;
}

static gboolean carry_out(struct ic *ic, struct paths_plan *plan,
                          const struct ic_restore *request,
                          struct ic_rollback_result *result, GError **error)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

    paths_plan_each_change(plan, add_path, paths);
    if (paths->len == 0)
        return TRUE;
    warn_shared(plan, result);
    if (request->dry) {
        g_autofree char *command = make_command(plan, request);

        g_ptr_array_add(result->steps, describe(ic, plan, command));
        return TRUE;
    }
    if (ic->read_only)
        return write_file_fail_errno(error, ic->share, -EROFS);
    stale_note_own(ic);
    if (!run_step(ic, plan, request, result, error))
        return FALSE;
    stale_tell_paths(ic, paths, true);
    return TRUE;
}

/* extent: NULL for the request's step. */
static gboolean restore(struct ic *ic, const struct rollback_extent *extent,
                        const struct ic_restore *request,
                        struct ic_rollback_result **ret_result, GError **error)
{
    struct paths_plan plan;
    gboolean ok;

    *ret_result = outside_result_new();
    paths_plan_init(&plan);
    watch_sync(ic->watch);
    rollback_lock_gate(ic);
    ok = plan_locked(ic, extent, request, *ret_result, &plan, error);
    rollback_unlock_gate(ic);
    ok = ok && carry_out(ic, &plan, request, *ret_result, error);
    paths_plan_clear(&plan);
    return ok;
}

gboolean restore_paths_of(struct ic *ic, const struct rollback_extent *extent,
                          const struct ic_restore *request,
                          struct ic_rollback_result **ret_result,
                          GError **error)
{
    return restore(ic, extent, request, ret_result, error);
}

gboolean ic_restore_paths(struct ic *ic, const struct ic_restore *request,
                          struct ic_rollback_result **ret_result,
                          GError **error)
{
    return restore(ic, NULL, request, ret_result, error);
}
