/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_undo - "stepback history", "stepback undo" and "stepback redo".
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
#include "common/json_bytes.h"
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

/* Open the log, make one request, close it. payload is taken. NULL: error, and
 * its data in *ret_data (which may be NULL), if there is any. */
static json_t *ask(const struct place *place, const char *type, json_t *payload,
                   json_t **ret_data, GError **error)
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
    answer = undo_client_ask(client, type, payload, ret_data, error);
    undo_client_close(client);
    return answer;
}

static void print_json(json_t *answer)
{
    json_dumpf(answer, stdout, JSON_INDENT(2));
    putchar('\n');
}

static bool is_listed(json_t *steps, json_t *id)
{
    json_t *report;
    size_t i;

    json_array_foreach(steps, i, report)
    {
        if (json_equal(json_object_get(report, "step_id"), id))
            return true;
    }
    return false;
}

/* Those that lie between this step and the next newer one. A step that is
 * still open is not listed; what is after that is above all. */
static void print_barriers(json_t *answer, json_t *report, bool newest)
{
    json_t *id = json_object_get(report, "step_id"), *barrier;
    json_t *steps = json_object_get(answer, "steps");
    size_t i;

    json_array_foreach(json_object_get(answer, "barriers"), i, barrier)
    {
        json_t *after = json_object_get(barrier, "after_step");
        g_autofree char *line = NULL;

        if (!json_equal(after, id) &&
            !(newest && !is_listed(steps, after) &&
              json_integer_value(after) > json_integer_value(id)))
            continue;
        line = cli_summary_barrier(barrier);
        puts(line);
    }
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

        print_barriers(answer, report, i == 0);
        puts(line);
    }
}

static int failed(const GError *error)
{
    if (error_code_of(error) == ERROR_UNDO_VERSION_MISMATCH)
        return cli_options_failed("%s; \"" CLI_PROGRAM
                                  " undo --discard\" forgets it",
                                  error->message);
    return cli_options_failed("%s", error->message);
}

static int history(const struct place *place, int limit, bool json)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = ask(place, "history", json_pack("{s:i}", "limit", limit),
                         NULL, &error);

    if (!answer && error_code_of(error) == ERROR_NOTHING_TO_UNDO)
        answer = json_pack("{s:[], s:i}", "steps", "last_step_id", 0);
    if (!answer)
        return failed(error);
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

/* What a command asks for, and how its answer is told. */
struct verb {
    const char *request, *done;
    bool lists; /* also the changes */
};

static const struct verb verb_undo = { "rollback", "undone", false };
static const struct verb verb_redo = { "redo", "redone", false };
static const struct verb verb_preview = { "preview", "would be undone", true };

/* Names are printed so that none can do anything to a terminal. */
static void print_change(json_t *change)
{
    g_autofree char *path = json_bytes_get(change, "path", NULL);
    g_autofree char *from = json_bytes_get(change, "from", NULL);
    g_autofree char *shown = g_strescape(path ? path : "?", NULL);
    g_autofree char *shown_from = from ? g_strescape(from, NULL) : NULL;

    printf("    %-8s %s%s%s\n",
           json_string_value(json_object_get(change, "change")), shown,
           from ? ", from " : "", from ? shown_from : "");
}

static void print_done(const struct verb *verb, json_t *answer)
{
    json_t *steps = json_object_get(answer, "steps"), *report, *change;
    size_t i, j;

    json_array_foreach(steps, i, report)
    {
        g_autofree char *line = cli_summary_history(report);

        printf("%s: %s\n", verb->done, g_strchug(line));
        if (!verb->lists)
            continue;
        json_array_foreach(json_object_get(report, "changes"), j, change)
            print_change(change);
        if (json_is_true(json_object_get(report, "truncated")))
            puts("    and more");
    }
}

static void print_warnings(json_t *answer)
{
    json_t *warning;
    size_t i;

    json_array_foreach(json_object_get(answer, "warnings"), i, warning) fprintf(
        stderr, CLI_PROGRAM ": warning: %s\n", json_string_value(warning));
}

/* Nothing but somebody else's edits is in the way: say which, and what to do.
 */
static int refused(const struct verb *verb, json_t *data)
{
    json_t *barrier;
    size_t i;

    if (json_array_size(json_object_get(data, "steps")) > 0)
        print_done(verb, data);
    fprintf(stderr, CLI_PROGRAM ": changed from outside since, so that undo "
                                "stops here:\n");
    json_array_foreach(json_object_get(data, "barriers"), i, barrier)
    {
        g_autofree char *line = cli_summary_barrier(barrier);

        fprintf(stderr, "%s\n", line);
    }
    fprintf(stderr, "To undo it all the same, and lose these changes where "
                    "they are in the way, add --force.\n");
    return CLI_FAILED;
}

static int go(const struct verb *verb, const struct place *place, gint64 steps,
              bool force, bool json)
{
    g_autoptr(GError) error = NULL;
    json_t *data = NULL;
    json_t *answer = ask(
        place, verb->request,
        json_pack("{s:I, s:b}", "steps", (json_int_t)steps, "force", force),
        &data, &error);
    int exit_code = CLI_OK;

    if (answer && json)
        print_json(answer);
    else if (answer)
        print_done(verb, answer);
    else if (error_code_of(error) == ERROR_UNDO_BARRIER && data)
        exit_code = refused(verb, data);
    else
        exit_code = failed(error);
    if (answer)
        print_warnings(answer);
    json_decref(answer);
    json_decref(data);
    return exit_code;
}

static int discard(const struct place *place)
{
    g_autoptr(GError) error = NULL;
    json_t *answer = ask(place, "discard", NULL, NULL, &error);

    if (!answer)
        return failed(error);
    puts("The undo log is empty now.");
    json_decref(answer);
    return CLI_OK;
}

int cli_undo(int argc, char **argv)
{
    struct place place = { 0 };
    gboolean force = FALSE, json = FALSE, forget = FALSE, dry = FALSE;
    int exit_code = CLI_USAGE;
    guint64 steps = 1;
    const GOptionEntry entries[] = {
        { "directory", 'C', 0, G_OPTION_ARG_FILENAME, &place.dir,
          "the working folder (default: the current one)", "DIR" },
        { "undo-dir", 0, 0, G_OPTION_ARG_FILENAME, &place.undo_dir,
          "where its undo log is", "DIR" },
        { "force", 0, 0, G_OPTION_ARG_NONE, &force,
          "over changes from outside, and if a step's record is damaged",
          NULL },
        { "dry-run", 'n', 0, G_OPTION_ARG_NONE, &dry,
          "change nothing, tell what would change", NULL },
        { "discard", 0, 0, G_OPTION_ARG_NONE, &forget,
          "forget all steps in place of undoing one; the folder stays as it is",
          NULL },
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
        else if (forget && (argc > 1 || force || dry))
            cli_options_wrong("undo: --discard undoes no steps");
        else if (forget)
            exit_code = discard(&place);
        else
            exit_code = go(dry ? &verb_preview : &verb_undo, &place,
                           (gint64)steps, force, json);
    }
    g_free(place.dir);
    g_free(place.undo_dir);
    return exit_code;
}

int cli_redo(int argc, char **argv)
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
        { "force", 0, 0, G_OPTION_ARG_NONE, &force, "over changes from outside",
          NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON", NULL },
        { NULL },
    };

    if (cli_options_parse("[N] - bring back what was undone last, or the last "
                          "N, as long as nothing else has changed",
                          entries, false, &argc, &argv)) {
        if (argc > 2)
            cli_options_wrong("redo: '%s' is one argument too many", argv[2]);
        else if (argc > 1 && !g_ascii_string_to_unsigned(
                                 argv[1], 10, 1, MAX_STEPS, &steps, NULL))
            cli_options_wrong("redo: '%s' is no number of steps", argv[1]);
        else
            exit_code = go(&verb_redo, &place, (gint64)steps, force, json);
    }
    g_free(place.dir);
    g_free(place.undo_dir);
    return exit_code;
}
