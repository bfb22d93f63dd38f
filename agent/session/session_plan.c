/* SPDX-License-Identifier: Apache-2.0
 *
 * session_plan - see session_plan.h.
 */
#include "agent/session/session_plan.h"

#include <limits.h>

#include "agent/client/step_merge.h"

enum { MAX_PLANS = 3 };

/* The first ids of a list of reports. */
static json_t *first_ids(json_t *list, unsigned count)
{
    json_t *ids = json_array();

    for (size_t i = 0; i < MIN(count, json_array_size(list)); i++)
        json_array_append(ids,
                          json_object_get(json_array_get(list, i), "step_id"));
    return ids;
}

static void note_plan(struct session_spread *spread)
{
    spread->plans++;
    for (unsigned i = 0; i < spread->n; i++) {
        json_decref(spread->planned[i]);
        spread->planned[i] = first_ids(spread->lists[i], spread->counts[i]);
    }
}

/* How many are to go, so that step_id is the last of them. */
static GError *find_step(struct session_spread *spread)
{
    json_t *units = step_merge_lists(spread->lists, spread->n, SIZE_MAX, false,
                                     NULL),
           *unit;
    size_t i;

    spread->steps = 0;
    json_array_foreach(units, i, unit)
    {
        if (json_integer_value(json_object_get(unit, "step_id")) ==
            spread->step_id)
            spread->steps = (unsigned)i + 1;
    }
    json_decref(units);
    return spread->steps > 0
               ? NULL
               : g_error_new(STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                             "the history has no step %" G_GINT64_FORMAT
                             ": it changed nothing, or was taken back, or is "
                             "too old",
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
    json_t *units = step_merge_lists(spread->lists, spread->n, SIZE_MAX, false,
                                     NULL);
    size_t count = spread->step_id ? spread->steps
                                   : step_merge_extend(units, spread->steps);

    json_decref(units);
    return count;
}

GError *session_plan_make(struct session_spread *spread)
{
    GError *error = spread->step_id ? find_step(spread) : NULL;
    json_t *units;
    size_t found, wanted;

    if (error)
        return error;
    wanted = count_units(spread);
    units = step_merge_lists(spread->lists, spread->n, wanted, false,
                             spread->counts);
    found = json_array_size(units);
    json_decref(units);
    note_plan(spread);
    return found == wanted ? NULL
                           : session_plan_too_few(ERROR_NOTHING_TO_UNDO, found,
                                                  spread->steps, "undo");
}

/* The preview went down to what was planned: it is longer, if more has come. */
bool session_plan_holds(const struct session_spread *spread)
{
    bool same = true;

    if (spread->plans == MAX_PLANS)
        return true;
    for (unsigned i = 0; i < spread->n && spread->planned[i] && same; i++) {
        json_t *ids = first_ids(spread->lists[i], UINT_MAX);

        same = json_equal(ids, spread->planned[i]);
        json_decref(ids);
    }
    return same;
}
