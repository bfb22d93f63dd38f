/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_result - see undo_result.h.
 */
#include "agent/base/undo_result.h"

static void change_clear(gpointer data)
{
    struct step_change *change = data;

    g_free(change->path);
    g_free(change->from);
    g_free(change->directory);
}

static void change_unref(gpointer data)
{
    g_rc_box_release_full(data, change_clear);
}

struct step_change *step_change_new(void)
{
    return g_rc_box_new0(struct step_change);
}

/* ---- reports ------------------------------------------------------------- */

static void part_free(gpointer data)
{
    struct step_part *part = data;

    g_free(part->directory);
    g_free(part);
}

static void report_clear(gpointer data)
{
    struct step_report *report = data;

    g_free(report->type);
    g_free(report->command);
    g_free(report->started);
    g_free(report->ended);
    g_free(report->reason);
    g_free(report->directory);
    g_ptr_array_unref(report->changes);
    g_clear_pointer(&report->parts, g_ptr_array_unref);
}

struct step_report *step_report_new(void)
{
    struct step_report *report = g_rc_box_new0(struct step_report);

    report->exit_code = -1;
    report->dropped = -1;
    report->changes = g_ptr_array_new_with_free_func(change_unref);
    return report;
}

struct step_report *step_report_ref(struct step_report *report)
{
    return g_rc_box_acquire(report);
}

void step_report_unref(struct step_report *report)
{
    g_rc_box_release_full(report, report_clear);
}

struct step_report *step_report_copy_head(const struct step_report *report)
{
    struct step_report *copy = step_report_new();
    GPtrArray *changes = copy->changes;

    *copy = *report;
    copy->type = g_strdup(report->type);
    copy->command = g_strdup(report->command);
    copy->started = g_strdup(report->started);
    copy->ended = g_strdup(report->ended);
    copy->reason = g_strdup(report->reason);
    copy->directory = NULL;
    copy->affected = 0;
    for (size_t i = 0; i < IC_CHANGE_TYPES; i++)
        copy->counts[i] = 0;
    copy->changes = changes;
    copy->parts = g_ptr_array_new_with_free_func(part_free);
    return copy;
}

void step_report_add_part(struct step_report *report,
                          const struct step_report *part)
{
    struct step_part *own = g_new0(struct step_part, 1);

    own->directory = g_strdup(part->directory);
    own->affected = part->affected;
    own->undoable = part->undoable;
    own->unprotected = part->unprotected;
    own->other_folder = part->other_folder;
    g_ptr_array_add(report->parts, own);
}

GPtrArray *step_report_list_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)step_report_unref);
}

struct step_report *step_report_list_last(GPtrArray *list)
{
    return list && list->len > 0 ? g_ptr_array_index(list, list->len - 1)
                                 : NULL;
}

/* ---- barriers ------------------------------------------------------------ */

void undo_barrier_free(struct undo_barrier *barrier)
{
    g_free(barrier->timestamp);
    g_free(barrier->process);
    g_free(barrier->directory);
    g_ptr_array_unref(barrier->paths);
    g_free(barrier);
}

GPtrArray *undo_barrier_list_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)undo_barrier_free);
}

/* ---- results ------------------------------------------------------------- */

struct undo_result *undo_result_new(void)
{
    struct undo_result *result = g_new0(struct undo_result, 1);

    result->last_step_id = -1;
    result->redoable = -1;
    return result;
}

void undo_result_free(struct undo_result *result)
{
    if (!result)
        return;
    g_free(result->directory);
    g_clear_pointer(&result->steps, g_ptr_array_unref);
    g_clear_pointer(&result->barriers, g_ptr_array_unref);
    g_clear_pointer(&result->warnings, g_ptr_array_unref);
    g_clear_pointer(&result->not_restored, g_ptr_array_unref);
    g_clear_pointer(&result->paths, g_ptr_array_unref);
    g_clear_pointer(&result->redo_steps, g_ptr_array_unref);
    g_clear_pointer(&result->redo_counts, g_ptr_array_unref);
    g_free(result);
}

static void count_free(gpointer data)
{
    struct undo_count *count = data;

    g_free(count->directory);
    g_free(count);
}

void undo_result_add_count(struct undo_result *result, const char *directory,
                           unsigned steps)
{
    struct undo_count *count = g_new0(struct undo_count, 1);

    if (!result->redo_counts)
        result->redo_counts = g_ptr_array_new_with_free_func(count_free);
    count->directory = g_strdup(directory);
    count->steps = steps;
    g_ptr_array_add(result->redo_counts, count);
}
