/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_history - "stepback history".
 */
#include <errno.h>
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_lookup.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_summary.h"
#include "agent/client/report_json.h"
#include "agent/cli/log_above.h"
#include "common/errors.h"

static bool is_listed(const GPtrArray *steps, gint64 id)
{
    for (guint i = 0; i < steps->len; i++) {
        const struct step_report *report = g_ptr_array_index(steps, i);

        if (report->step_id == id)
            return true;
    }
    return false;
}

/* Print the barriers between this step and the next newer one. An open step is
 * not listed; barriers after it come first. */
static void print_barriers(const struct undo_result *result, gint64 id,
                           bool newest)
{
    for (guint i = 0; i < result->barriers->len; i++) {
        const struct undo_barrier *barrier = g_ptr_array_index(result->barriers,
                                                               i);
        gint64 after = barrier->after_step;
        g_autofree char *line = NULL;

        if (after != id &&
            !(newest && !is_listed(result->steps, after) && after > id))
            continue;
        line = cli_summary_barrier(barrier);
        puts(line);
    }
}

/* The widest cell in the column of changes. */
static int width_of(const GPtrArray *steps)
{
    int width = 0;

    for (guint i = 0; i < steps->len; i++) {
        struct cli_row row;

        cli_summary_row(g_ptr_array_index(steps, i), &row);
        if (row.time)
            width = MAX(width, (int)strlen(row.changes));
        cli_row_clear(&row);
    }
    return width;
}

static void print_row(const struct step_report *report, int width)
{
    struct cli_row row;

    cli_summary_row(report, &row);
    if (row.time)
        printf("%5" G_GINT64_FORMAT "  %s  %-*s  %s\n", row.id, row.time, width,
               row.changes, row.command);
    else
        printf("%5" G_GINT64_FORMAT "  %s\n", row.id, row.changes);
    cli_row_clear(&row);
}

/* Print the open step, which is not yet in the history but is the first that
 * undo covers. Return false if there is none. */
static bool print_open(json_t *answer, const struct undo_result *result)
{
    json_t *open = json_object_get(answer, "open_step");
    json_t *unfinished = json_object_get(answer, "unfinished");
    gint64 id = json_integer_value(open);

    if (json_is_object(unfinished)) /* reported when the log was opened */
        return true;
    if (!json_is_integer(open))
        return false;
    print_barriers(result, id, true);
    printf("%5" G_GINT64_FORMAT "  %s\n", id,
           id < 0 ? "(changes outside commands, not over yet; undo begins with "
                    "them)"
                  : "(a step that is not over yet)");
    return true;
}

/* On terminals only: programs read --json, or the lines without a header. */
static void print_header(int width)
{
    if (isatty(STDOUT_FILENO))
        printf("%5s  %-19s  %-*s  %s\n", "STEP", "TIME", width, "CHANGES",
               "COMMAND");
}

/* Undone steps of another folder block the redo of the steps that were undone
 * before them. */
static void print_redoable(const struct cli_place *place,
                           const struct undo_result *result)
{
    g_autofree char *redo = cli_place_command(place, "redo");
    gint64 others = 0, here = result->redoable;

    for (guint i = 0; i < result->redo_steps->len; i++) {
        const struct step_report *report = g_ptr_array_index(result->redo_steps,
                                                             i);

        if (report->other_folder)
            here = others++ ? here : (gint64)i;
    }
    if (here > 0)
        printf("   --  %" G_GINT64_FORMAT " undone step%s can be redone: "
               "%s\n",
               here, here == 1 ? "" : "s", redo);
    if (others > 0)
        printf("   --  %" G_GINT64_FORMAT " undone step%s of another folder\n",
               others, others == 1 ? "" : "s");
}

static void print_history(const struct cli_place *place, json_t *answer)
{
    struct undo_result *result = result_from_json(answer, NULL);
    const GPtrArray *steps = result->steps;
    int width = width_of(steps);
    bool open;

    print_redoable(place, result);
    if (steps->len > 0)
        print_header(width);
    open = print_open(answer, result);
    if (steps->len == 0 && !open)
        puts("There is nothing to undo.");
    for (guint i = 0; i < steps->len; i++) {
        const struct step_report *report = g_ptr_array_index(steps, i);

        print_barriers(result, report->step_id, i == 0 && !open);
        print_row(report, width);
    }
    undo_result_free(result);
}

/* A folder without a log has an empty history, unless the log of a parent
 * folder covers it. */
static bool is_new(const struct cli_place *place, GError **error)
{
    const char *dir = place->dir ? place->dir : ".";
    g_autofree char *above = NULL;

    if (error_code_of(*error) != ERROR_NOTHING_TO_UNDO || place->undo_dir)
        return false;
    if (access(dir, R_OK | X_OK) != 0) {
        g_clear_error(error);
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY, "%s: %s",
                    dir, g_strerror(errno));
        return false;
    }
    above = log_above_find_ours(dir);
    return !above;
}

static int history(const struct cli_place *place, int limit, bool json)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = cli_place_history(place, limit, &error);
    bool none = !answer && is_new(place, &error);

    if (none)
        answer = json_pack("{s:[], s:[], s:i, s:i, s:[], s:n, s:n}", "steps",
                           "barriers", "last_step_id", 0, "redoable", 0,
                           "redo_steps", "open_step", "unfinished");
    if (!answer)
        return cli_place_failed(place, error, NULL, json);
    if (json)
        cli_place_print_json(answer);
    else
        print_history(place, answer);
    if (none && !json) /* the log may be at another path */
        cli_options_failed("%s", error->message);
    json_decref(answer);
    return CLI_OK;
}

int cli_history(int argc, char **argv)
{
    struct cli_place place = { 0 };
    gboolean json = FALSE;
    int limit = 20, exit_code = CLI_USAGE;
    const GOptionEntry entries[] = {
        CLI_PLACE_OPTIONS(&place),
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON, errors included",
          NULL },
        { "limit", 0, 0, G_OPTION_ARG_INT, &limit,
          "list the newest N steps (default: 20)", "N" },
        { NULL },
    };

    if (cli_options_parse("- list the steps that can be undone, newest first",
                          entries, false, &argc, &argv)) {
        if (argc > 1)
            cli_options_wrong("history: '%s' is one argument too many",
                              argv[1]);
        else if (limit < 1 || limit > CLI_MAX_STEPS)
            cli_options_wrong("history: --limit is a number from 1");
        else {
            cli_lookup_place(&place);
            exit_code = history(&place, limit, json);
        }
    }
    cli_place_clear(&place);
    return exit_code;
}
