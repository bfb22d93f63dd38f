/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_newer - see cli_newer.h.
 */
#include "agent/cli/cli_newer.h"

#include <stdio.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_summary.h"
#include "common/errors.h"

static bool is_ambient(json_t *report)
{
    return json_integer_value(json_object_get(report, "step_id")) < 0;
}

bool cli_newer_counts(const struct cli_extent *extent, json_t *report)
{
    return !json_is_true(json_object_get(report, "unchanged")) &&
           (!is_ambient(report) || g_strcmp0(extent->counts, "commands") != 0);
}

/* The steps that the undo would go over, the newest first; of one that would be
 * refused, those that are known. A new array. */
static json_t *find_steps(const struct cli_place *place,
                          const struct cli_extent *extent)
{
    json_t *data = NULL, *steps;
    json_t *answer = cli_place_ask(place, "preview", cli_place_extent(extent),
                                   &data, NULL);

    steps = json_incref(json_object_get(answer ? answer : data, "steps"));
    json_decref(answer);
    json_decref(data);
    return steps ? steps : json_array();
}

/* Those that the user has not named. A new array. */
static json_t *find_others(const struct cli_extent *extent, json_t *steps)
{
    json_t *others = json_array(), *report;
    size_t i;

    json_array_foreach(steps, i, report)
    {
        bool named = extent->step_id
                         ? json_integer_value(json_object_get(
                               report, "step_id")) == extent->step_id
                         : !is_ambient(report);

        if (!named)
            json_array_append(others, report);
    }
    return others;
}

static bool ask(const struct cli_extent *extent, json_t *others)
{
    char line[16] = "";
    json_t *report;
    size_t i;

    fprintf(stderr, "undo also covers the steps after %s:\n",
            extent->step_id ? "this step" : "the command");
    json_array_foreach(others, i, report)
    {
        g_autofree char *text = cli_summary_preview(report);

        fprintf(stderr, "    %s\n", text);
    }
    fprintf(stderr, "Go on? [y/N] ");
    return fgets(line, sizeof(line), stdin) &&
           (line[0] == 'y' || line[0] == 'Y');
}

/* others may be NULL. Returns false. */
static bool refuse(const struct cli_place *place, const GError *error,
                   json_t *others, bool json)
{
    json_t *data = others ? json_pack("{s:O}", "steps", others) : NULL;
    json_t *report;
    size_t i;

    json_array_foreach(json ? NULL : others, i, report)
    {
        g_autofree char *text = cli_summary_preview(report);

        fprintf(stderr, "    %s\n", text);
    }
    cli_place_failed(place, error, data, json);
    json_decref(data);
    return false;
}

/* No step is a command. */
static bool refuse_ambient(const struct cli_place *place, json_t *others,
                           bool json)
{
    g_autofree char *command = cli_place_command(place, "undo");
    g_autoptr(GError)
        error = g_error_new(STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                            "no command to undo, only changes outside "
                            "commands; to undo the newest of "
                            "these: %s --ambient",
                            command);

    return refuse(place, error, others, json);
}

static bool decide(const struct cli_place *place,
                   const struct cli_extent *extent, json_t *others, bool json)
{
    g_autoptr(GError) error = NULL;

    if (!json && isatty(STDIN_FILENO)) {
        if (ask(extent, others))
            return true;
        cli_options_failed("nothing was undone");
        return false;
    }
    if (extent->step_id) /* it says itself which they are */
        return true;
    error = g_error_new_literal(
        STEPBACK_ERROR, ERROR_UNDO_BARRIER,
        "changes outside commands came after the command and would be undone, "
        "too; add --yes to undo all, or --ambient to undo only the newest of "
        "them");
    return refuse(place, error, others, json);
}

bool cli_newer_may_go(const struct cli_place *place,
                      const struct cli_extent *extent, bool yes, bool json)
{
    json_t *steps = find_steps(place, extent);
    json_t *others = find_others(extent, steps);
    size_t count = json_array_size(others);
    bool may = true;

    if (count > 0 && !extent->step_id && count == json_array_size(steps))
        may = refuse_ambient(place, others, json);
    else if (count > 0 && !yes)
        may = decide(place, extent, others, json);
    json_decref(others);
    json_decref(steps);
    return may;
}
