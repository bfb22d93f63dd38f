/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_history - "stepback history".
 */
#include <errno.h>
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_fit.h"
#include "agent/cli/cli_lookup.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_output.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_summary.h"
#include "agent/client/report_json.h"
#include "agent/base/log_above.h"
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

/* How the steps are printed: the columns of each cell; 0: no limit. */
struct table {
    const struct cli_output *output;
    unsigned changes, command;
};

enum {
    ID_COLUMNS = 5,
    TIME_COLUMNS = 19,
    GAP = 2,
    MIN_CHANGES = 15,
    MIN_COMMAND = 24,
};

/* Print the barriers between this step and the next newer one. An open step is
 * not listed; barriers after it come first. */
static void print_barriers(const struct table *table,
                           const struct undo_result *result, gint64 id,
                           bool newest)
{
    for (guint i = 0; i < result->barriers->len; i++) {
        const struct undo_barrier *barrier = g_ptr_array_index(result->barriers,
                                                               i);
        gint64 after = barrier->after_step;
        g_autofree char *line = NULL, *shown = NULL;

        if (after != id &&
            !(newest && !is_listed(result->steps, after) && after > id))
            continue;
        line = cli_summary_barrier(barrier, table->output->width);
        shown = cli_output_paint(table->output, PAINT_OTHER, line);
        puts(shown);
    }
}

/* Find the widest cells of these columns. */
static void find_widths(const GPtrArray *steps, unsigned *ret_changes,
                        unsigned *ret_command)
{
    *ret_changes = *ret_command = 0;
    for (guint i = 0; i < steps->len; i++) {
        struct cli_row row;

        cli_summary_row(g_ptr_array_index(steps, i), 0, &row);
        if (row.time) {
            *ret_changes = MAX(*ret_changes, cli_fit_columns(row.changes));
            *ret_command = MAX(*ret_command, cli_fit_columns(row.command));
        }
        cli_row_clear(&row);
    }
}

/* Divide the terminal's width between the changes and the command. */
static struct table make_table(const struct cli_output *output,
                               const GPtrArray *steps)
{
    struct table table = { .output = output };
    unsigned fixed = ID_COLUMNS + TIME_COLUMNS + 3 * GAP, command, width;

    find_widths(steps, &table.changes, &command);
    command = MIN(command, (unsigned)MIN_COMMAND);
    width = MAX(output->width, fixed + command + MIN_CHANGES);
    if (output->width > 0) {
        table.changes = MIN(table.changes, width - fixed - command);
        table.command = width - fixed - table.changes;
    }
    return table;
}

static void print_cells(const struct table *table, const char *id,
                        const char *rest)
{
    unsigned width = table->output->width;
    g_autofree char *cell = g_strdup_printf("%*s", ID_COLUMNS, id);
    g_autofree char *shown_id = cli_output_paint(table->output, PAINT_ID, cell);
    g_autofree char *shown = cli_fit_end(
        rest, width ? width - MIN(cli_fit_columns(cell), width - 1) : 0);

    printf("%s%s\n", shown_id, shown);
}

static void print_row(const struct table *table,
                      const struct step_report *report)
{
    g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, report->step_id);
    g_autofree char *rest = NULL;
    struct cli_row row;

    cli_summary_row(report, (int)table->command, &row);
    if (row.time) {
        g_autofree char *cut = cli_fit_end(row.changes,
                                           table->command ? table->changes : 0);
        g_autofree char *changes = cli_fit_pad(cut, table->changes);
        g_autofree char *command = cli_fit_middle(row.command, table->command);

        rest = g_strdup_printf("  %s  %s  %s", row.time, changes, command);
    } else {
        rest = g_strdup_printf("  %s", row.changes);
    }
    print_cells(table, id, rest);
    cli_row_clear(&row);
}

/* Print the open step, which is not yet in the history but is the first that
 * undo covers. Return false if there is none. */
static bool print_open(const struct table *table, json_t *answer,
                       const struct undo_result *result)
{
    json_t *open = json_object_get(answer, "open_step");
    json_t *unfinished = json_object_get(answer, "unfinished");
    gint64 step = json_integer_value(open);
    g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, step);
    g_autofree char *command = cli_summary_open_command(answer);
    g_autofree char *rest = NULL;

    if (json_is_object(unfinished)) /* reported when the log was opened */
        return true;
    if (!json_is_integer(open))
        return false;
    print_barriers(table, result, step, true);
    rest = step < 0   ? g_strdup("  (changes outside commands, not over yet; "
                                   "undo begins with them)")
           : *command ? g_strdup_printf("  (not over yet)  %s", command)
                      : g_strdup("  (a step that is not over yet)");
    print_cells(table, id, rest);
    return true;
}

/* On terminals only: programs read --json, or the lines without a header. */
static void print_header(const struct table *table)
{
    g_autofree char *text = g_strdup_printf(
        "%*s  %-*s  %-*s  %s", ID_COLUMNS, "STEP", TIME_COLUMNS, "TIME",
        (int)table->changes, "CHANGES", "COMMAND");
    g_autofree char *cut = cli_fit_end(text, table->output->width);
    g_autofree char *shown = cli_output_paint(table->output, PAINT_HEAD, cut);

    if (table->output->terminal)
        puts(shown);
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

static void print_history(const struct cli_place *place, json_t *answer,
                          struct cli_output *output)
{
    struct undo_result *result = result_from_json(answer, NULL);
    const GPtrArray *steps = result->steps;
    const struct table table = make_table(output, steps);
    bool open;

    cli_output_page(output);
    print_redoable(place, result);
    if (steps->len > 0)
        print_header(&table);
    open = print_open(&table, answer, result);
    if (steps->len == 0 && !open)
        puts("There is nothing to undo.");
    for (guint i = 0; i < steps->len; i++) {
        const struct step_report *report = g_ptr_array_index(steps, i);

        print_barriers(&table, result, report->step_id, i == 0 && !open);
        print_row(&table, report);
    }
    cli_output_end(output);
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

static int history(const struct cli_place *place, int limit, bool json,
                   struct cli_output *output)
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
        print_history(place, answer, output);
    if (none && !json) /* the log may be at another path */
        cli_options_failed("%s", error->message);
    json_decref(answer);
    return CLI_OK;
}

int cli_history(int argc, char **argv)
{
    struct cli_place place = { 0 };
    struct cli_output_options options = { 0 };
    struct cli_output output;
    gboolean json = FALSE;
    int limit = 20, exit_code = CLI_USAGE;
    const GOptionEntry entries[] = {
        CLI_PLACE_OPTIONS(&place),
        CLI_OUTPUT_COLOR(&options),
        CLI_OUTPUT_PAGER(&options),
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON, errors included",
          NULL },
        { "limit", 0, 0, G_OPTION_ARG_INT, &limit,
          "list the newest N steps (default: 20)", "N" },
        { NULL },
    };

    if (cli_options_parse("- list the steps that can be undone, newest first",
                          entries, false, &argc, &argv)) {
        if (argc > 1)
            cli_options_surplus("history", argv[1]);
        else if (limit < 1 || limit > CLI_MAX_STEPS)
            cli_options_wrong("history: --limit is a number from 1");
        else if (cli_output_init(&output, "history", &options)) {
            cli_lookup_place(&place);
            exit_code = history(&place, limit, json, &output);
        }
    }
    cli_place_clear(&place);
    g_free(options.color);
    return exit_code;
}
