/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_discard - see cli_discard.h.
 */
#include "agent/cli/cli_discard.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"

static bool is_of_another_folder(json_t *report)
{
    return json_is_true(json_object_get(report, "other_folder"));
}

struct count {
    gint64 steps;  /* includes an open step; -1: unknown */
    gint64 redos;  /* undone steps */
    gint64 others; /* of both, the number that belongs to another folder */
};

static void count_steps(const struct cli_place *place, struct count *ret_count)
{
    json_t *answer = cli_place_history(place, CLI_MAX_STEPS, NULL);
    json_t *steps = json_object_get(answer, "steps"), *report;
    json_t *redos = json_object_get(answer, "redo_steps");
    json_t *unfinished = json_object_get(answer, "unfinished");
    size_t i;

    ret_count->steps = answer ? (gint64)json_array_size(steps) : -1;
    ret_count->redos = json_integer_value(json_object_get(answer, "redoable"));
    ret_count->others = 0;
    json_array_foreach(steps, i, report)
        ret_count->others += is_of_another_folder(report);
    json_array_foreach(redos, i, report)
        ret_count->others += is_of_another_folder(report);
    if (json_is_integer(json_object_get(answer, "open_step")))
        ret_count->steps++;
    if (json_is_object(unfinished)) {
        ret_count->steps++;
        ret_count->others += is_of_another_folder(unfinished);
    }
    json_decref(answer);
}

static void warn_of_others(const struct cli_place *place,
                           const struct count *count)
{
    const char *dir = place->dir ? place->dir : ".";
    g_autofree char *real = realpath(dir, NULL);

    if (count->others == count->steps + count->redos)
        fprintf(stderr,
                CLI_PROGRAM ": warning: this is the log of another "
                            "folder than %s\n",
                real ? real : dir);
    else if (count->others > 0)
        fprintf(stderr,
                CLI_PROGRAM ": warning: %" G_GINT64_FORMAT " of these steps %s "
                            "of another folder than %s\n",
                count->others, count->others == 1 ? "is" : "are",
                real ? real : dir);
}

/* Return "3 steps" or "3 steps and 1 that was undone" as a new string. */
static char *describe_count(const struct count *count)
{
    g_autofree char *redos = g_strdup_printf(
        " and %" G_GINT64_FORMAT " that %s undone", count->redos,
        count->redos == 1 ? "was" : "were");

    return g_strdup_printf("%" G_GINT64_FORMAT " step%s%s", count->steps,
                           count->steps == 1 ? "" : "s",
                           count->redos > 0 ? redos : "");
}

static bool confirm(const struct count *count)
{
    g_autofree char *steps = describe_count(count);
    char line[16] = "";

    if (count->steps < 0)
        fprintf(stderr, "Forget the undo log? ");
    else
        fprintf(stderr,
                "Forget %s? They cannot be undone or redone after that. ",
                steps);
    fprintf(stderr, "[y/N] ");
    return fgets(line, sizeof(line), stdin) &&
           (line[0] == 'y' || line[0] == 'Y');
}

int cli_discard(const struct cli_place *place, bool yes, bool json)
{
    g_autoptr(GError) error = NULL;
    struct count count;
    g_autofree char *steps = NULL;
    json_t *answer;

    count_steps(place, &count);
    steps = describe_count(&count);
    if (count.others > 0)
        warn_of_others(place, &count);
    if (!yes && isatty(STDIN_FILENO) && !confirm(&count))
        return cli_options_failed("nothing was forgotten");
    answer = cli_place_ask(place, "discard", NULL, NULL, &error);
    if (!answer)
        return cli_place_failed(place, error, NULL, json);
    if (count.steps >= 0)
        json_object_set_new(answer, "discarded_steps",
                            json_integer(count.steps));
    if (json)
        cli_place_print_json(answer);
    else if (count.steps >= 0)
        printf("%s forgotten. The undo log is empty now.\n", steps);
    else
        puts("The undo log is empty now.");
    json_decref(answer);
    return CLI_OK;
}
