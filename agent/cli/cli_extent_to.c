/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_extent_to - see cli_extent_to.h.
 */
#include "agent/cli/cli_extent_to.h"

#include "agent/cli/cli.h"
#include "common/errors.h"

static gint64 id_of(json_t *report)
{
    return json_integer_value(json_object_get(report, "step_id"));
}

/* Return the step that is not in the history yet, or 0. */
static gint64 find_open(json_t *history)
{
    gint64 open = json_integer_value(json_object_get(history, "open_step"));

    return open ? open : id_of(json_object_get(history, "unfinished"));
}

gboolean cli_extent_to(const struct cli_place *place, struct cli_extent *extent,
                       GError **error)
{
    json_t *history = cli_place_history(place, CLI_MAX_STEPS, error);
    json_t *steps = json_object_get(history, "steps"), *report;
    gint64 newer = find_open(history);
    gboolean found = FALSE;
    size_t i;

    json_array_foreach(steps, i, report)
    {
        found = id_of(report) == extent->keep;
        if (found)
            break;
        newer = id_of(report);
    }
    if (history && !found)
        g_set_error(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                    "step %" G_GINT64_FORMAT " is not in the history",
                    extent->keep);
    extent->step_id = found ? newer : 0;
    json_decref(history);
    return found;
}
