/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_undo - "stepback history" and "stepback undo".
 */
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cli.h"
#include "agent/cli_options.h"
#include "agent/cli_summary.h"
#include "agent/undo_client.h"
#include "common/errors.h"
#include "interceptor/interceptor.h"

enum { MAX_STEPS = 1000000 };

struct place {
    char *dir, *undo_dir;
};

static void on_recovery(json_t *report)
{
    g_autofree char *text = cli_summary_recovery(report);

    fprintf(stderr, CLI_PROGRAM ": %s\n", text);
}

/* Open the log, make one request, close it. payload is taken. NULL: error. */
static json_t *ask(const struct place *place, const char *type, json_t *payload,
                   GError **error)
{
    g_autofree char *dir = g_canonicalize_filename(
        place->dir ? place->dir : ".", NULL);
    g_autofree char *undo_dir = place->undo_dir ? g_canonicalize_filename(
                                                      place->undo_dir, NULL)
                                                : NULL;
    struct undo_client *client;
    json_t *answer;

    ic_set_log(0, CLI_PROGRAM);
    client = undo_client_open(dir, undo_dir, on_recovery, error);
    if (!client) {
        json_decref(payload);
        return NULL;
    }
    answer = undo_client_ask(client, type, payload, error);
    undo_client_close(client);
    return answer;
}

static void print_json(json_t *answer)
{
    json_dumpf(answer, stdout, JSON_INDENT(2));
    putchar('\n');
}

static void print_history(json_t *answer)
{
    json_t *steps = json_object_get(answer, "steps"), *report;
    size_t i;

    if (json_array_size(steps) == 0)
        puts("There is nothing to undo.");
    json_array_foreach(steps, i, report)
    {
        g_autofree char *line = cli_summary_history(report);

        puts(line);
    }
}

static int history(const struct place *place, int limit, bool json)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = ask(place, "history", json_pack("{s:i}", "limit", limit),
                         &error);

    if (!answer && error_code_of(error) == ERROR_NOTHING_TO_UNDO)
        answer = json_pack("{s:[], s:i}", "steps", "last_step_id", 0);
    if (!answer)
        return cli_options_failed("%s", error->message);
    if (json)
        print_json(answer);
    else
        print_history(answer);
    json_decref(answer);
    return CLI_OK;
}

int cli_history(int argc, char **argv)
{
    struct place place = { 0 };
    gboolean json = FALSE;
    int limit = 20, exit_code = CLI_USAGE;
    const GOptionEntry entries[] = {
        { "directory", 'C', 0, G_OPTION_ARG_FILENAME, &place.dir,
          "the working folder (default: the current one)", "DIR" },
        { "undo-dir", 0, 0, G_OPTION_ARG_FILENAME, &place.undo_dir,
          "where its undo log is", "DIR" },
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON", NULL },
        { "limit", 'n', 0, G_OPTION_ARG_INT, &limit,
          "list the newest N (default: 20)", "N" },
        { NULL },
    };

    if (cli_options_parse("- list the steps that can be undone, newest first",
                          entries, false, &argc, &argv)) {
        if (argc > 1)
            cli_options_wrong("history: '%s' is one argument too many",
                              argv[1]);
        else if (limit < 1 || limit > MAX_STEPS)
            cli_options_wrong("history: -n is a number from 1");
        else
            exit_code = history(&place, limit, json);
    }
    g_free(place.dir);
    g_free(place.undo_dir);
    return exit_code;
}

static void print_undone(json_t *answer)
{
    json_t *steps = json_object_get(answer, "steps"), *report;
    size_t i;

    json_array_foreach(steps, i, report)
    {
        g_autofree char *line = cli_summary_history(report);

        printf("undone: %s\n", g_strchug(line));
    }
}

static int undo(const struct place *place, gint64 steps, bool force, bool json)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = ask(
        place, "rollback",
        json_pack("{s:I, s:b}", "steps", (json_int_t)steps, "force", force),
        &error);

    if (!answer)
        return cli_options_failed("%s", error->message);
    if (json)
        print_json(answer);
    else
        print_undone(answer);
    json_decref(answer);
    return CLI_OK;
}

int cli_undo(int argc, char **argv)
{
    struct place place = { 0 };
    gboolean force = FALSE, json = FALSE;
    int exit_code = CLI_USAGE;
    guint64 steps = 1;
    const GOptionEntry entries[] = {
        { "directory", 'C', 0, G_OPTION_ARG_FILENAME, &place.dir,
          "the working folder (default: the current one)", "DIR" },
        { "undo-dir", 0, 0, G_OPTION_ARG_FILENAME, &place.undo_dir,
          "where its undo log is", "DIR" },
        { "force", 0, 0, G_OPTION_ARG_NONE, &force,
          "even if the record of a step is damaged", NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON", NULL },
        { NULL },
    };

    if (cli_options_parse("[N] - take back the newest step, or the newest N",
                          entries, false, &argc, &argv)) {
        if (argc > 2)
            cli_options_wrong("undo: '%s' is one argument too many", argv[2]);
        else if (argc > 1 && !g_ascii_string_to_unsigned(
                                 argv[1], 10, 1, MAX_STEPS, &steps, NULL))
            cli_options_wrong("undo: '%s' is no number of steps", argv[1]);
        else
            exit_code = undo(&place, (gint64)steps, force, json);
    }
    g_free(place.dir);
    g_free(place.undo_dir);
    return exit_code;
}
