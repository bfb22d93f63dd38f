/* SPDX-License-Identifier: Apache-2.0
 *
 * step_merge - see step_merge.h.
 *
 * Each log's list is in order; so the lists are merged by their heads. Times of
 * the protocol have one form, so they are compared as text.
 */
#include "agent/client/step_merge.h"

#include <glib.h>
#include <string.h>

/* ---- labels -------------------------------------------------------------- */

void step_merge_label(json_t *report, const char *label)
{
    json_t *changes = json_object_get(report, "changes"), *change;
    size_t i;

    json_object_set_new(report, "directory", json_string(label));
    json_array_foreach(changes, i, change)
    {
        json_object_set_new(change, "directory", json_string(label));
    }
}

void step_merge_label_all(json_t *list, const char *label)
{
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry) step_merge_label(entry, label);
}

/* ---- one step ------------------------------------------------------------ */

static json_int_t get_int(json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static bool get_bool(json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static void add_counts(json_t *into, json_t *counts)
{
    const char *kind;
    json_t *count;

    json_object_foreach(counts, kind, count)
    {
        json_object_set_new(
            into, kind,
            json_integer(get_int(into, kind) + json_integer_value(count)));
    }
}

/* True if there was no room for all. */
static bool add_some(json_t *into, json_t *list)
{
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
    {
        if (json_array_size(into) >= STEP_MERGE_MAX_CHANGES)
            return true;
        json_array_append(into, entry);
    }
    return false;
}

/* One that has changed times alone is in the history, too. */
static bool has_changed(json_t *report)
{
    return get_int(report, "affected") > 0 || get_bool(report, "undoable") ||
           get_bool(report, "unprotected") || get_bool(report, "damaged");
}

/* What is true of the whole if it is of a part. */
static void take_marks(json_t *into, json_t *report)
{
    static const char *const marks[] = { "unprotected", "damaged", "aborted",
                                         "truncated", "other_folder" };
    json_t *reason = json_object_get(report, "reason");
    json_t *below = json_object_get(report, "below_unprotected");

    for (size_t i = 0; i < G_N_ELEMENTS(marks); i++) {
        if (get_bool(report, marks[i]))
            json_object_set_new(into, marks[i], json_true());
    }
    if (reason)
        json_object_set(into, "reason", reason);
    if (below)
        json_object_set(into, "below_unprotected", below);
}

static json_t *describe_part(json_t *report)
{
    json_t *part = json_object();
    static const char *const keys[] = { "directory", "affected", "undoable",
                                        "unprotected", "other_folder" };

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        json_t *value = json_object_get(report, keys[i]);

        if (value)
            json_object_set(part, keys[i], value);
    }
    return part;
}

/* listed: they are of logs' lists, so each has its part, whatever it says: who
 * goes back or forth must know of all logs that go along. */
static json_t *merge(json_t *reports, bool listed)
{
    json_t *merged = json_copy(json_array_get(reports, 0)), *report;
    json_t *changes = json_array(), *paths = json_array();
    json_t *counts = json_object(), *parts = json_array();
    bool undoable = true, kept = false, unchanged = true;
    json_int_t affected = 0;
    size_t i;

    json_object_del(merged, "directory");
    json_array_foreach(reports, i, report)
    {
        take_marks(merged, report);
        affected += get_int(report, "affected");
        add_counts(counts, json_object_get(report, "counts"));
        if (add_some(changes, json_object_get(report, "changes")))
            json_object_set_new(merged, "truncated", json_true());
        add_some(paths, json_object_get(report, "affected_paths"));
        kept = kept || get_bool(report, "undoable");
        if (has_changed(report)) {
            undoable = undoable && get_bool(report, "undoable");
            unchanged = unchanged && get_bool(report, "unchanged");
        }
        if (listed || has_changed(report))
            json_array_append_new(parts, describe_part(report));
    }
    json_object_set_new(merged, "undoable", json_boolean(kept && undoable));
    if (!unchanged)
        json_object_del(merged, "unchanged");
    else if (kept)
        json_object_set_new(merged, "unchanged", json_true());
    json_object_set_new(merged, "affected", json_integer(affected));
    json_object_set_new(merged, "counts", counts);
    json_object_set_new(merged, "changes", changes);
    json_object_set_new(merged, "affected_paths", paths);
    json_object_set_new(merged, "directories", parts);
    return merged;
}

json_t *step_merge_reports(json_t *reports)
{
    return merge(reports, false);
}

/* ---- several logs -------------------------------------------------------- */

struct head {
    json_t *list;
    size_t at;
};

static json_t *head_report(const struct head *head)
{
    return json_array_get(head->list, head->at);
}

/* Whether a comes before b in the merged list. One whose time nobody knows
 * comes at once: what is below it must wait. */
static bool comes_before(json_t *a, json_t *b, bool backwards)
{
    const char *when_a = json_string_value(json_object_get(a, "started"));
    const char *when_b = json_string_value(json_object_get(b, "started"));
    int order;

    if (!when_a || !when_b)
        return when_b != NULL;
    order = strcmp(when_a, when_b);
    return backwards ? order < 0 : order > 0;
}

static json_t *choose(const struct head *heads, unsigned n, bool backwards)
{
    json_t *best = NULL;

    for (unsigned i = 0; i < n; i++) {
        json_t *report = head_report(&heads[i]);

        if (report && (!best || comes_before(report, best, backwards)))
            best = report;
    }
    return best;
}

/* All heads that are this step. */
static json_t *take(struct head *heads, unsigned n, json_t *chosen,
                    unsigned *counts)
{
    json_int_t id = get_int(chosen, "step_id");
    json_t *reports = json_array(), *merged;

    for (unsigned i = 0; i < n; i++) {
        json_t *report = head_report(&heads[i]);

        if (report != chosen &&
            (id <= 0 || !report || get_int(report, "step_id") != id))
            continue;
        json_array_append(reports, report);
        heads[i].at++;
        if (counts)
            counts[i]++;
    }
    merged = merge(reports, true);
    json_decref(reports);
    return merged;
}

json_t *step_merge_lists(json_t *const *lists, unsigned n, size_t limit,
                         bool backwards, unsigned *counts)
{
    g_autofree struct head *heads = g_new0(struct head, n);
    json_t *merged = json_array();

    for (unsigned i = 0; i < n; i++) {
        heads[i].list = lists[i];
        if (counts)
            counts[i] = 0;
    }
    while (json_array_size(merged) < limit) {
        json_t *chosen = choose(heads, n, backwards);

        if (!chosen)
            break;
        json_array_append_new(merged, take(heads, n, chosen, counts));
    }
    return merged;
}

size_t step_merge_extend(json_t *reports, size_t wanted)
{
    size_t count = json_array_size(reports), counted = 0, steps = 0;

    if (wanted > count)
        return wanted;
    while (steps < count && counted < wanted)
        counted += !get_bool(json_array_get(reports, steps++), "unchanged");
    return steps;
}
