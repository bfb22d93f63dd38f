/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_restore - see cli_restore.h.
 */
#include "agent/cli/cli_restore.h"

#include <stdio.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_summary.h"
#include "agent/cli/cli_terminal.h"
#include "agent/client/report_json.h"
#include "common/errors.h"

static void print_steps(const struct cli_place *place,
                        const struct undo_result *result, bool dry,
                        struct cli_output *output)
{
    const struct step_report *report = step_report_list_last(result->steps);
    g_autofree char *undo = cli_place_command(place, "undo");
    g_autofree char *changes = NULL;

    if (!report) {
        puts("nothing to restore: the paths are as they were");
        return;
    }
    changes = cli_summary_changes(report, output);
    if (dry)
        cli_output_page(output);
    if (dry)
        printf("would be restored:\n%s", changes);
    else
        printf("restored in step %" G_GINT64_FORMAT " (undo with: %s):\n%s",
               report->step_id, undo, changes);
    cli_output_end(output);
}

/* Print the outside edits that caused the refusal. */
static void print_edits(const struct undo_result *result)
{
    fprintf(stderr, CLI_PROGRAM ": undo: changed from outside since; nothing "
                                "was restored:\n");
    for (guint i = 0; result->barriers && i < result->barriers->len; i++) {
        g_autofree char *line = cli_summary_barrier(
            g_ptr_array_index(result->barriers, i),
            cli_terminal_fit_width(STDERR_FILENO));

        fprintf(stderr, "%s\n", line);
    }
    fprintf(stderr, "--force restores the paths anyway; `stepback undo` brings "
                    "these changes back\n");
}

static int failed(const struct cli_place *place, const GError *error,
                  json_t *data, bool json)
{
    struct undo_result *result;

    if (json || error_code_of(error) != ERROR_UNDO_BARRIER || !data)
        return cli_place_failed(place, error, data, json);
    result = result_from_json(data, NULL);
    print_edits(result);
    undo_result_free(result);
    return CLI_FAILED;
}

int cli_restore(const struct cli_place *place, const struct cli_extent *extent,
                json_t *paths, bool dry, bool json, struct cli_output *output)
{
    json_t *payload = cli_place_extent(extent), *data = NULL, *answer;
    struct undo_result *result;
    g_autoptr(GError) error = NULL;
    int exit_code = CLI_OK;

    json_object_set_new(payload, "paths", paths);
    json_object_set_new(payload, "dry_run", json_boolean(dry));
    answer = dry ? cli_place_ask(place, "restore", payload, &data, &error)
                 : cli_place_change(place, "restore", payload, &data, &error);
    result = result_from_json(answer, NULL);
    if (!answer)
        exit_code = failed(place, error, data, json);
    else if (json)
        cli_place_print_json(answer);
    else
        print_steps(place, result, dry, output);
    fflush(stdout);
    cli_place_warn_all(result->warnings);
    undo_result_free(result);
    json_decref(answer);
    json_decref(data);
    return exit_code;
}
