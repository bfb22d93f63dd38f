/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_restore - see cli_restore.h.
 */
#include "agent/cli/cli_restore.h"

#include <stdio.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_summary.h"
#include "common/errors.h"

static void print_steps(const struct cli_place *place, json_t *answer, bool dry)
{
    json_t *report = json_array_get(json_object_get(answer, "steps"), 0);
    gint64 id = json_integer_value(json_object_get(report, "step_id"));
    g_autofree char *undo = cli_place_command(place, "undo");
    g_autofree char *changes = NULL;

    if (!report) {
        puts("nothing to restore: the paths are as they were");
        return;
    }
    changes = cli_summary_changes(report);
    if (dry)
        printf("would be restored:\n%s", changes);
    else
        printf("restored in step %" G_GINT64_FORMAT " (undo with: %s):\n%s", id,
               undo, changes);
}

/* Only edits by other programs are in the way. */
static void print_edits(json_t *data)
{
    json_t *barrier;
    size_t i;

    fprintf(stderr, CLI_PROGRAM ": undo: changed from outside since; nothing "
                                "was restored:\n");
    json_array_foreach(json_object_get(data, "barriers"), i, barrier)
    {
        g_autofree char *line = cli_summary_barrier(barrier);

        fprintf(stderr, "%s\n", line);
    }
    fprintf(stderr, "--force restores the paths anyway; `stepback undo` brings "
                    "these changes back\n");
}

static int failed(const struct cli_place *place, const GError *error,
                  json_t *data, bool json)
{
    if (json || error_code_of(error) != ERROR_UNDO_BARRIER || !data)
        return cli_place_failed(place, error, data, json);
    print_edits(data);
    return CLI_FAILED;
}

int cli_restore(const struct cli_place *place, const struct cli_extent *extent,
                json_t *paths, bool dry, bool json)
{
    json_t *payload = cli_place_extent(extent), *data = NULL, *answer, *text;
    g_autoptr(GError) error = NULL;
    int exit_code = CLI_OK;
    size_t i;

    json_object_set_new(payload, "paths", paths);
    json_object_set_new(payload, "dry_run", json_boolean(dry));
    answer = dry ? cli_place_ask(place, "restore", payload, &data, &error)
                 : cli_place_change(place, "restore", payload, &data, &error);
    if (!answer)
        exit_code = failed(place, error, data, json);
    else if (json)
        cli_place_print_json(answer);
    else
        print_steps(place, answer, dry);
    fflush(stdout);
    json_array_foreach(json_object_get(answer, "warnings"), i, text)
        cli_place_warn(json_string_value(text));
    json_decref(answer);
    json_decref(data);
    return exit_code;
}
