/* SPDX-License-Identifier: Apache-2.0
 *
 * session_plan - see session_plan.h.
 */
#include "agent/session/session_plan.h"

#include <limits.h>
#include <string.h>

#include "agent/client/step_merge.h"

enum { MAX_PLANS = 3 };

/* Return the first ids of a list of reports. */
static GArray *first_ids(GPtrArray *list, unsigned count)
{
    GArray *ids = g_array_new(FALSE, FALSE, sizeof(gint64));

    for (guint i = 0; list && i < MIN(count, list->len); i++) {
        const struct step_report *report = g_ptr_array_index(list, i);

        g_array_append_val(ids, report->step_id);
    }
    return ids;
}

static bool is_same(const GArray *a, const GArray *b)
{
    return a->len == b->len &&
           (a->len == 0 ||
            memcmp(a->data, b->data, a->len * sizeof(gint64)) == 0);
}

static void note_plan(struct session_spread *spread)
{
    spread->plans++;
    for (unsigned i = 0; i < spread->n; i++) {
        g_clear_pointer(&spread->planned[i], g_array_unref);
        spread->planned[i] = first_ids(spread->lists[i], spread->counts[i]);
    }
}

/* Count the steps down to step_id, inclusive. */
static GError *find_step(struct session_spread *spread)
{
    g_autoptr(GPtrArray) units = step_merge_lists(spread->lists, spread->n,
                                                  SIZE_MAX, false, NULL);

    spread->steps = 0;
    for (guint i = 0; i < units->len; i++) {
        const struct step_report *unit = g_ptr_array_index(units, i);

        if (unit->step_id == spread->step_id)
            spread->steps = i + 1;
    }
    return spread->steps > 0
               ? NULL
               : g_error_new(STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                             "the history has no step %" G_GINT64_FORMAT
                             ": it changed nothing, was undone, or is too old",
                             spread->step_id);
}

GError *session_plan_too_few(enum error_code code, size_t found,
                             unsigned wanted, const char *what)
{
    if (found == 0)
        return g_error_new(STEPBACK_ERROR, code, "there is nothing to %s",
                           what);
    return g_error_new(STEPBACK_ERROR, code,
                       found == 1 ? "there is %zu step to %s, not %u"
                                  : "there are %zu steps to %s, not %u",
                       found, what, wanted);
}

static size_t count_units(const struct session_spread *spread)
{
    g_autoptr(GPtrArray) units = step_merge_lists(spread->lists, spread->n,
                                                  SIZE_MAX, false, NULL);

    return spread->step_id ? spread->steps
                           : step_merge_extend(units, spread->steps);
}

GError *session_plan_make(struct session_spread *spread)
{
    GError *error = spread->step_id ? find_step(spread) : NULL;
    g_autoptr(GPtrArray) units = NULL;
    size_t wanted;

    if (error)
        return error;
    wanted = count_units(spread);
    units = step_merge_lists(spread->lists, spread->n, wanted, false,
                             spread->counts);
    note_plan(spread);
    return units->len == wanted
               ? NULL
               : session_plan_too_few(ERROR_NOTHING_TO_UNDO, units->len,
                                      spread->steps, "undo");
}

/* The preview covered the planned steps; its list is longer if a newer step has
 * appeared. */
bool session_plan_holds(const struct session_spread *spread)
{
    bool same = true;

    if (spread->plans == MAX_PLANS)
        return true;
    for (unsigned i = 0; i < spread->n && spread->planned[i] && same; i++) {
        g_autoptr(GArray) ids = first_ids(spread->lists[i], UINT_MAX);

        same = is_same(ids, spread->planned[i]);
    }
    return same;
}
