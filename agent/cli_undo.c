/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_undo - "stepback undo" and "stepback redo".
 */
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/cli.h"
#include "agent/cli_lookup.h"
#include "agent/cli_options.h"
#include "agent/cli_place.h"
#include "agent/cli_summary.h"
#include "common/errors.h"
#include "common/json_bytes.h"

/* What a command asks for, and how its answer is told. */
struct verb {
    const char *name, *request, *done, *passed_by;
    bool dry; /* nothing was done; the changes are listed */
};

static const struct verb verb_undo = { "undo", "rollback", "undone",
                                       "passed by", false };
static const struct verb verb_redo = { "redo", "redo", "redone", "passed by",
                                       false };
static const struct verb verb_preview = { "undo", "preview", "would be undone",
                                          "would be passed by", true };

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

static void print_changes(json_t *report)
{
    json_t *change;
    size_t i;

    json_array_foreach(json_object_get(report, "changes"), i, change)
        print_change(change);
    if (json_is_true(json_object_get(report, "truncated")))
        puts("    and more");
}

static bool is_not_of_here(json_t *report)
{
    return json_is_true(json_object_get(report, "other_folder"));
}

static void print_step(const struct verb *verb, bool passes, json_t *report)
{
    gint64 id = json_integer_value(json_object_get(report, "step_id"));
    g_autofree char *line = verb->dry ? cli_summary_preview(report)
                                      : cli_summary_history(report);

    if (is_not_of_here(report) ||
        json_is_true(json_object_get(report, "damaged")))
        printf("%s: %" G_GINT64_FORMAT "; what it changed stays\n",
               verb->dry && !passes ? "cannot be undone" : verb->passed_by, id);
    else
        printf("%s: %s\n", verb->done, line);
}

/* passes: what cannot be undone is passed by. */
static void print_done(const struct verb *verb, bool passes, json_t *answer)
{
    json_t *report;
    size_t i;

    json_array_foreach(json_object_get(answer, "steps"), i, report)
    {
        print_step(verb, passes, report);
        if (!verb->dry || is_not_of_here(report))
            continue;
        if (i > 0)
            puts("    This is what the step noted. It can be compared with the "
                 "folder only when\n    the newer steps are undone.");
        print_changes(report);
    }
}

static void print_warnings(json_t *answer)
{
    json_t *warning;
    size_t i;

    json_array_foreach(json_object_get(answer, "warnings"), i, warning)
        cli_place_warn(json_string_value(warning));
}

struct request {
    const struct verb *verb;
    const struct cli_place *place;
    struct cli_extent extent;
    bool json;
};

/* How many of the steps that were asked for were done before one failed. */
static gint64 count_done(const struct request *r, json_t *data)
{
    gint64 done = 0;
    json_t *report;
    size_t i;

    if (r->verb->dry)
        return 0;
    json_array_foreach(json_object_get(data, "steps"), i, report)
        done += !json_is_true(json_object_get(report, "unchanged"));
    return done;
}

static void print_way_on(const struct request *r, gint64 done, bool force)
{
    g_autofree char *command = cli_place_command(r->place, r->verb->name);

    fprintf(stderr, "To go on: %s %" G_GINT64_FORMAT "%s\n", command,
            r->extent.steps - done, force ? " --force" : "");
}

/* Nothing but somebody else's edits is in the way: say which, and what to do.
 */
static int refused(const struct request *r, json_t *data)
{
    gint64 done = count_done(r, data);
    json_t *barrier;
    size_t i;

    fflush(stdout);
    if (done > 0)
        fprintf(stderr,
                CLI_PROGRAM ": %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                            " steps %s\n",
                done, r->extent.steps, r->verb->done);
    fprintf(stderr,
            CLI_PROGRAM ": changed from outside since, so that %s stops here:"
                        "\n",
            r->verb->name);
    json_array_foreach(json_object_get(data, "barriers"), i, barrier)
    {
        g_autofree char *line = cli_summary_barrier(barrier);

        fprintf(stderr, "%s\n", line);
    }
    fprintf(stderr,
            "To %s it all the same, and lose these changes where they are in "
            "the way, add --force.\n",
            r->verb->name);
    if (done > 0)
        print_way_on(r, done, true);
    return CLI_FAILED;
}

static int failed(const struct request *r, const GError *error, json_t *data)
{
    gint64 done = count_done(r, data);
    int code = error_code_of(error);

    if (r->json)
        return cli_place_failed(r->place, error, data, true);
    if (data)
        print_done(r->verb, r->extent.force && code != ERROR_INVALID_DIRECTORY,
                   data);
    if (code == ERROR_UNDO_BARRIER && data)
        return refused(r, data);
    cli_place_failed(r->place, error, data, false);
    if (done > 0 && code != ERROR_NOTHING_TO_UNDO &&
        code != ERROR_INVALID_DIRECTORY)
        print_way_on(r, done,
                     r->extent.force || code == ERROR_PREIMAGE_MISSING ||
                         code == ERROR_PREIMAGE_CORRUPT);
    return CLI_FAILED;
}

static json_t *ask(const struct request *r, json_t **ret_data, GError **error)
{
    if (!r->verb->dry)
        return cli_place_go(r->place, r->verb->request, &r->extent, ret_data,
                            error);
    return cli_place_ask(r->place, r->verb->request,
                         cli_place_extent(&r->extent), ret_data, error);
}

static int go(const struct request *r)
{
    g_autoptr(GError) error = NULL;
    json_t *data = NULL;
    json_t *answer = ask(r, &data, &error);
    int exit_code = CLI_OK;

    if (answer && r->json)
        cli_place_print_json(answer);
    else if (answer)
        print_done(r->verb, r->extent.force, answer);
    else
        exit_code = failed(r, error, data);
    fflush(stdout);
    if (answer)
        print_warnings(answer);
    json_decref(answer);
    json_decref(data);
    return exit_code;
}

/* ---- forgetting ---------------------------------------------------------- */

struct count {
    gint64 steps;  /* with one that is still open; -1: it cannot be said */
    gint64 redos;  /* that were undone */
    gint64 others; /* of both, those of another folder */
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
        ret_count->others += is_not_of_here(report);
    json_array_foreach(redos, i, report)
        ret_count->others += is_not_of_here(report);
    if (json_is_integer(json_object_get(answer, "open_step")))
        ret_count->steps++;
    if (json_is_object(unfinished)) {
        ret_count->steps++;
        ret_count->others += is_not_of_here(unfinished);
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

/* "3 steps" or "3 steps and 1 that was undone". A new string. */
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

static int discard(const struct cli_place *place, bool yes, bool json)
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

/* ---- the command lines --------------------------------------------------- */

/* "[N]"; 0 and a message if it is none. */
static guint64 parse_steps(const char *command, int argc, char **argv)
{
    guint64 steps = 1;

    if (argc > 2)
        cli_options_wrong("%s: '%s' is one argument too many", command,
                          argv[2]);
    else if (argc < 2 || g_ascii_string_to_unsigned(
                             argv[1], 10, 1, CLI_MAX_STEPS, &steps, NULL))
        return steps;
    else
        cli_options_wrong("%s: '%s' is no number of steps, which are counted "
                          "from the newest",
                          command, argv[1]);
    return 0;
}

int cli_undo(int argc, char **argv)
{
    struct cli_place place = { 0 };
    gboolean force = FALSE, json = FALSE, forget = FALSE, dry = FALSE;
    gboolean yes = FALSE;
    int exit_code = CLI_USAGE;
    guint64 steps;
    const GOptionEntry entries[] = {
        CLI_PLACE_OPTIONS(&place),
        { "force", 0, 0, G_OPTION_ARG_NONE, &force,
          "over changes from outside, and if a step's record is damaged",
          NULL },
        { "dry-run", 'n', 0, G_OPTION_ARG_NONE, &dry,
          "change nothing, tell what would change", NULL },
        { "discard", 0, 0, G_OPTION_ARG_NONE, &forget,
          "forget all steps in place of undoing one; the folder stays as it is",
          NULL },
        { "yes", 'y', 0, G_OPTION_ARG_NONE, &yes,
          "with --discard: do not ask (it asks only on a terminal)", NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON, an error too",
          NULL },
        { NULL },
    };

    if (cli_options_parse("[N] - take back the newest step, or the newest N",
                          entries, false, &argc, &argv) &&
        (steps = parse_steps("undo", argc, argv)) > 0) {
        const struct request request = { dry ? &verb_preview : &verb_undo,
                                         &place,
                                         { (gint64)steps, force },
                                         json };

        if (forget && (argc > 1 || force || dry))
            cli_options_wrong("undo: --discard undoes no steps");
        else if (yes && !forget)
            cli_options_wrong("undo: --yes goes with --discard");
        else if (forget) /* of no folder but the one that was named */
            exit_code = discard(&place, yes, json);
        else {
            cli_lookup_place(&place);
            exit_code = go(&request);
        }
    }
    cli_place_clear(&place);
    return exit_code;
}

/* The command lines that take a number of steps and nothing of their own. */
static int run_verb(int argc, char **argv, const struct verb *verb,
                    const char *summary, const char *force_help)
{
    struct cli_place place = { 0 };
    gboolean force = FALSE, json = FALSE;
    int exit_code = CLI_USAGE;
    guint64 steps;
    const GOptionEntry entries[] = {
        CLI_PLACE_OPTIONS(&place),
        { "force", 0, 0, G_OPTION_ARG_NONE, &force, force_help, NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON, an error too",
          NULL },
        { NULL },
    };
    g_autofree char *name = g_strdup(argv[0]);

    if (cli_options_parse(summary, entries, false, &argc, &argv) &&
        (steps = parse_steps(name, argc, argv)) > 0) {
        const struct request request = {
            verb, &place, { (gint64)steps, force }, json
        };

        cli_lookup_place(&place);
        exit_code = go(&request);
    }
    cli_place_clear(&place);
    return exit_code;
}

int cli_preview(int argc, char **argv)
{
    return run_verb(argc, argv, &verb_preview,
                    "[N] - tell what undo would do, and do nothing",
                    "as undo with --force would do it");
}

int cli_redo(int argc, char **argv)
{
    return run_verb(argc, argv, &verb_redo,
                    "[N] - bring back what was undone last, or the last N, as "
                    "long as nothing else has changed",
                    "over changes from outside");
}
