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
#include "agent/cli/cli_terminal.h"
#include "agent/client/report_json.h"
#include "common/errors.h"

static bool is_ambient(const struct step_report *report)
{
    return report->step_id < 0;
}

bool cli_newer_counts(const struct cli_extent *extent,
                      const struct step_report *report)
{
    return !report->unchanged &&
           (!is_ambient(report) || g_strcmp0(extent->counts, "commands") != 0);
}

/* Return the steps that the undo would cover, newest first; if it would be
 * refused, the known ones. A new list. */
static GPtrArray *find_steps(const struct cli_place *place,
                             const struct cli_extent *extent)
{
    json_t *data = NULL;
    json_t *answer = cli_place_ask(place, "preview", cli_place_extent(extent),
                                   &data, NULL);
    struct undo_result *result = result_from_json(answer ? answer : data, NULL);
    GPtrArray *steps = g_steal_pointer(&result->steps);

    undo_result_free(result);
    json_decref(answer);
    json_decref(data);
    return steps ? steps : step_report_list_new();
}

/* Return whether the user means this step. --to names the step that remains:
 * only one command after it is a clear case. */
static bool is_named(const struct cli_extent *extent, const GPtrArray *steps,
                     const struct step_report *report)
{
    if (extent->keep)
        return steps->len == 1 && !is_ambient(report);
    return extent->step_id ? report->step_id == extent->step_id
                           : !is_ambient(report);
}

/* Return the steps that the user has not named. A new list. */
static GPtrArray *find_others(const struct cli_extent *extent,
                              const GPtrArray *steps)
{
    GPtrArray *others = step_report_list_new();

    for (guint i = 0; i < steps->len; i++) {
        struct step_report *report = g_ptr_array_index(steps, i);
        bool named = is_named(extent, steps, report);

        if (!named)
            g_ptr_array_add(others, step_report_ref(report));
    }
    return others;
}

static void print_steps(const GPtrArray *steps)
{
    enum { INDENT = 4 };
    unsigned width = cli_terminal_fit_width(STDERR_FILENO);

    for (guint i = 0; i < steps->len; i++) {
        g_autofree char *text = cli_summary_preview(g_ptr_array_index(steps, i),
                                                    width ? width - INDENT : 0);

        fprintf(stderr, "%*s%s\n", INDENT, "", text);
    }
}

static bool ask(const struct cli_extent *extent, const GPtrArray *others)
{
    char line[16] = "";

    if (extent->keep)
        fprintf(stderr,
                "undo covers the steps after step %" G_GINT64_FORMAT ":\n",
                extent->keep);
    else
        fprintf(stderr, "undo also covers the steps after %s:\n",
                extent->step_id ? "this step" : "the command");
    print_steps(others);
    fprintf(stderr, "Go on? [y/N] ");
    return fgets(line, sizeof(line), stdin) &&
           (line[0] == 'y' || line[0] == 'Y');
}

/* Always returns false. */
static bool refuse(const struct cli_place *place, const GError *error,
                   GPtrArray *others, bool json)
{
    json_t *data = json_pack("{s:o}", "steps", reports_to_json(others));

    if (!json)
        print_steps(others);
    cli_place_failed(place, error, data, json);
    json_decref(data);
    return false;
}

/* All steps are changes outside of commands. */
static bool refuse_ambient(const struct cli_place *place, GPtrArray *others,
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
                   const struct cli_extent *extent, GPtrArray *others,
                   bool json)
{
    g_autoptr(GError) error = NULL;

    if (!json && isatty(STDIN_FILENO)) {
        if (ask(extent, others))
            return true;
        cli_options_failed("nothing was undone");
        return false;
    }
    if (extent->step_id) /* the option itself names the range */
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
    g_autoptr(GPtrArray) steps = find_steps(place, extent);
    g_autoptr(GPtrArray) others = find_others(extent, steps);

    if (others->len > 0 && !extent->step_id && others->len == steps->len)
        return refuse_ambient(place, others, json);
    return others->len == 0 || yes || decide(place, extent, others, json);
}
