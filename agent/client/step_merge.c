/* SPDX-License-Identifier: Apache-2.0
 *
 * step_merge - see step_merge.h.
 *
 * Each log's list is sorted, so the lists are merged by their heads. The
 * protocol's timestamps have one format and compare as text.
 */
#include "agent/client/step_merge.h"

#include <string.h>

/* ---- one step ------------------------------------------------------------ */

static void add_changes(struct step_report *into,
                        const struct step_report *report)
{
    for (guint i = 0; i < report->changes->len; i++) {
        if (into->changes->len >= STEP_MERGE_MAX_CHANGES) {
            into->truncated = true;
            return;
        }
        g_ptr_array_add(into->changes, g_rc_box_acquire(g_ptr_array_index(
                                           report->changes, i)));
    }
}

/* A step that changed only timestamps is part of the history too. */
static bool has_changed(const struct step_report *report)
{
    return report->affected > 0 || report->undoable || report->unprotected ||
           report->damaged;
}

/* Flags that hold for the whole if they hold for one part. */
static void take_marks(struct step_report *into,
                       const struct step_report *report)
{
    into->unprotected |= report->unprotected;
    into->damaged |= report->damaged;
    into->aborted |= report->aborted;
    into->truncated |= report->truncated;
    into->other_folder |= report->other_folder;
    if (report->reason) {
        g_free(into->reason);
        into->reason = g_strdup(report->reason);
    }
    if (report->below_unprotected)
        into->below_unprotected = report->below_unprotected;
}

/* listed: the reports come from logs' lists, so every log gets a part, even an
 * empty one: undo and redo must know every log that takes part. */
static struct step_report *merge(GPtrArray *reports, bool listed)
{
    struct step_report *merged = step_report_copy_head(
        g_ptr_array_index(reports, 0));
    bool undoable = true, kept = false, unchanged = true;

    for (guint i = 0; i < reports->len; i++) {
        const struct step_report *report = g_ptr_array_index(reports, i);

        take_marks(merged, report);
        merged->affected += report->affected;
        for (size_t type = 0; type < IC_CHANGE_TYPES; type++)
            merged->counts[type] += report->counts[type];
        add_changes(merged, report);
        kept = kept || report->undoable;
        if (has_changed(report)) {
            undoable = undoable && report->undoable;
            unchanged = unchanged && report->unchanged;
        }
        if (listed || has_changed(report))
            step_report_add_part(merged, report);
    }
    merged->undoable = kept && undoable;
    merged->unchanged = unchanged && (kept || merged->unchanged);
    return merged;
}

struct step_report *step_merge_reports(GPtrArray *reports)
{
    return merge(reports, false);
}

/* ---- several logs -------------------------------------------------------- */

struct head {
    GPtrArray *list;
    guint at;
};

static struct step_report *head_report(const struct head *head)
{
    return head->list && head->at < head->list->len
               ? g_ptr_array_index(head->list, head->at)
               : NULL;
}

/* Return whether a comes before b in the merged list. A step with an unknown
 * time comes first: the entries below it must wait. */
static bool comes_before(const struct step_report *a,
                         const struct step_report *b, bool backwards)
{
    int order;

    if (!a->started || !b->started)
        return b->started != NULL;
    order = strcmp(a->started, b->started);
    return backwards ? order < 0 : order > 0;
}

static struct step_report *choose(const struct head *heads, unsigned n,
                                  bool backwards)
{
    struct step_report *best = NULL;

    for (unsigned i = 0; i < n; i++) {
        struct step_report *report = head_report(&heads[i]);

        if (report && (!best || comes_before(report, best, backwards)))
            best = report;
    }
    return best;
}

/* Take all heads that belong to this step. */
static struct step_report *take(struct head *heads, unsigned n,
                                const struct step_report *chosen,
                                unsigned *counts)
{
    g_autoptr(GPtrArray) reports = g_ptr_array_new();
    gint64 id = chosen->step_id;

    for (unsigned i = 0; i < n; i++) {
        struct step_report *report = head_report(&heads[i]);

        if (report != chosen && (id <= 0 || !report || report->step_id != id))
            continue;
        g_ptr_array_add(reports, report);
        heads[i].at++;
        if (counts)
            counts[i]++;
    }
    return merge(reports, true);
}

GPtrArray *step_merge_lists(GPtrArray *const *lists, unsigned n, size_t limit,
                            bool backwards, unsigned *counts)
{
    g_autofree struct head *heads = g_new0(struct head, n);
    GPtrArray *merged = step_report_list_new();

    for (unsigned i = 0; i < n; i++) {
        heads[i].list = lists[i];
        if (counts)
            counts[i] = 0;
    }
    while (merged->len < limit) {
        const struct step_report *chosen = choose(heads, n, backwards);

        if (!chosen)
            break;
        g_ptr_array_add(merged, take(heads, n, chosen, counts));
    }
    return merged;
}

size_t step_merge_extend(GPtrArray *reports, size_t wanted)
{
    size_t counted = 0;
    guint steps = 0;

    if (wanted > reports->len)
        return wanted;
    while (steps < reports->len && counted < wanted) {
        const struct step_report *report = g_ptr_array_index(reports, steps++);

        counted += !report->unchanged;
    }
    return steps;
}
