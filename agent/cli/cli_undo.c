/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_undo - "stepback undo" and "stepback redo".
 */
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_discard.h"
#include "agent/cli/cli_lookup.h"
#include "agent/cli/cli_newer.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_paths.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_restore.h"
#include "agent/cli/cli_summary.h"
#include "agent/client/report_json.h"
#include "common/errors.h"

/* A command's request, and how its answer is printed. */
struct verb {
    const char *name, *request, *done, *passed_by;
    bool dry; /* nothing is done; the changes are listed */
};

static const struct verb verb_undo = { "undo", "rollback", "undone", "skipped",
                                       false };
static const struct verb verb_redo = { "redo", "redo", "redone", "skipped",
                                       false };
static const struct verb verb_preview = { "undo", "preview", "would be undone",
                                          "would be skipped", true };

static void print_changes(const struct step_report *report)
{
    g_autofree char *lines = cli_summary_changes(report);

    fputs(lines, stdout);
}

static void print_step(const struct verb *verb, bool passes,
                       const struct step_report *report)
{
    g_autofree char *line = verb->dry ? cli_summary_preview(report)
                                      : cli_summary_history(report);

    if (report->other_folder || report->damaged)
        printf("%s: step %" G_GINT64_FORMAT "; its changes stay\n",
               verb->dry && !passes ? "cannot be undone" : verb->passed_by,
               report->step_id);
    else
        printf("%s: step %s\n", verb->done, line);
}

/* passes: steps that cannot be undone are skipped. */
static void print_done(const struct verb *verb, bool passes,
                       const struct undo_result *result)
{
    for (guint i = 0; result->steps && i < result->steps->len; i++) {
        const struct step_report *report = g_ptr_array_index(result->steps, i);

        print_step(verb, passes, report);
        if (!verb->dry || report->other_folder)
            continue;
        if (i > 0)
            puts(
                "    As recorded by the step; undo compares it with the folder "
                "only after the\n    newer steps are undone.");
        print_changes(report);
    }
}

struct request {
    const struct verb *verb;
    const struct cli_place *place;
    struct cli_extent extent;
    bool json;
    bool ambient; /* count steps of changes outside commands */
    bool yes;     /* do not ask about the additional steps */
};

/* Return how many of the requested steps were done before one failed. */
static gint64 count_done(const struct request *r,
                         const struct undo_result *result)
{
    gint64 done = 0;

    for (guint i = 0; !r->verb->dry && result->steps && i < result->steps->len;
         i++)
        done += r->extent.step_id ||
                cli_newer_counts(&r->extent,
                                 g_ptr_array_index(result->steps, i));
    return done;
}

static void print_next_command(const struct request *r, gint64 done, bool force)
{
    g_autofree char *command = cli_place_command(r->place, r->verb->name);

    fprintf(stderr, "To go on: %s ", command);
    if (r->extent.step_id)
        fprintf(stderr, "--step %" G_GINT64_FORMAT, r->extent.step_id);
    else
        fprintf(stderr, "%" G_GINT64_FORMAT "%s", r->extent.steps - done,
                r->ambient ? " --ambient" : "");
    fprintf(stderr, "%s\n", force ? " --force" : "");
}

static void print_part(const struct request *r, gint64 done)
{
    if (r->extent.step_id)
        fprintf(stderr,
                CLI_PROGRAM ": only the newest %" G_GINT64_FORMAT
                            " step%s %s\n",
                done, done == 1 ? "" : "s", r->verb->done);
    else
        fprintf(stderr,
                CLI_PROGRAM ": %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                            " steps %s\n",
                done, r->extent.steps, r->verb->done);
}

static bool is_git_index(const char *name)
{
    return strcmp(name, ".git/index") == 0 ||
           g_str_has_suffix(name, "/.git/index");
}

/* Return whether other processes have changed git indexes only. */
static bool only_git_index(const GPtrArray *barriers)
{
    for (guint i = 0; i < barriers->len; i++) {
        const struct undo_barrier *barrier = g_ptr_array_index(barriers, i);

        if (barrier->paths->len == 0 || barrier->more > 0)
            return false;
        for (guint j = 0; j < barrier->paths->len; j++) {
            if (!is_git_index(g_ptr_array_index(barrier->paths, j)))
                return false;
        }
    }
    return barriers->len > 0;
}

/* Only outside edits cause the refusal: list them and print the remedy. */
static int refused(const struct request *r, const struct undo_result *result)
{
    gint64 done = count_done(r, result);

    fflush(stdout);
    if (done > 0)
        print_part(r, done);
    fprintf(stderr, CLI_PROGRAM ": %s: stopped at changes from outside:\n",
            r->verb->name);
    for (guint i = 0; i < result->barriers->len; i++) {
        g_autofree char *line = cli_summary_barrier(
            g_ptr_array_index(result->barriers, i));

        fprintf(stderr, "%s\n", line);
    }
    fprintf(stderr, "--force %ss anyway; %s\n", r->verb->name,
            r->verb == &verb_redo ? "edits that are in the way are lost"
                                  : "'" CLI_PROGRAM
                                    " redo' brings your edits back");
    if (only_git_index(result->barriers))
        fputs("git status writes .git/index; GIT_OPTIONAL_LOCKS=0 in its "
              "environment prevents that\n",
              stderr);
    if (done > 0)
        print_next_command(r, done, true);
    return CLI_FAILED;
}

static int print_failure(const struct request *r, const GError *error,
                         const struct undo_result *result)
{
    gint64 done = count_done(r, result);
    int code = error_code_of(error);

    print_done(r->verb, r->extent.force && code != ERROR_INVALID_DIRECTORY,
               result);
    if (code == ERROR_UNDO_BARRIER && result->barriers)
        return refused(r, result);
    cli_place_failed(r->place, error, NULL, false);
    if (done > 0 && code != ERROR_NOTHING_TO_UNDO &&
        code != ERROR_INVALID_DIRECTORY)
        print_next_command(r, done,
                           r->extent.force || code == ERROR_PREIMAGE_MISSING ||
                               code == ERROR_PREIMAGE_CORRUPT);
    return CLI_FAILED;
}

static int failed(const struct request *r, const GError *error, json_t *data)
{
    struct undo_result *result;
    int exit_code;

    if (r->json)
        return cli_place_failed(r->place, error, data, true);
    result = result_from_json(data, NULL);
    exit_code = print_failure(r, error, result);
    undo_result_free(result);
    return exit_code;
}

static json_t *ask(const struct request *r, json_t **ret_data, GError **error)
{
    if (!r->verb->dry)
        return cli_place_go(r->place, r->verb->request, &r->extent, ret_data,
                            error);
    return cli_place_ask(r->place, r->verb->request,
                         cli_place_extent(&r->extent), ret_data, error);
}

/* Only undo can cover steps that the user did not mean. */
static bool may_go(const struct request *r)
{
    return r->verb != &verb_undo || r->ambient ||
           cli_newer_may_go(r->place, &r->extent, r->yes, r->json);
}

static int run_request(const struct request *r)
{
    g_autoptr(GError) error = NULL;
    json_t *data = NULL, *answer;
    struct undo_result *result;
    int exit_code = CLI_OK;

    if (!may_go(r))
        return CLI_FAILED;
    answer = ask(r, &data, &error);
    result = result_from_json(answer, NULL);
    if (answer && r->json)
        cli_place_print_json(answer);
    else if (answer)
        print_done(r->verb, r->extent.force, result);
    else
        exit_code = failed(r, error, data);
    fflush(stdout);
    cli_place_warn_all(result->warnings);
    /* A script must be able to tell this from an exact undo. */
    if (result->not_restored && result->not_restored->len > 0)
        exit_code = CLI_FAILED;
    undo_result_free(result);
    json_decref(answer);
    json_decref(data);
    return exit_code;
}

/* ---- the command lines --------------------------------------------------- */

/* Parse "[N]"; print a message and return 0 if it is not a count. */
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
        cli_options_wrong("%s: '%s' is not a step count; '" CLI_PROGRAM
                          " %s 2' takes the two newest",
                          command, argv[1], command);
    return 0;
}

/* Options of undo and preview. */
struct undo_options {
    struct cli_place place;
    gboolean force, json, ambient;
    char *step_word; /* as given; owned, or NULL */
    gint64 step;     /* set by make_request(); 0: not given */
};

#define UNDO_OPTIONS(options)                                                  \
    { "step",                                                                  \
      0,                                                                       \
      0,                                                                       \
      G_OPTION_ARG_STRING,                                                     \
      &(options)->step_word,                                                   \
      "instead of N: this step and all newer ones",                            \
      "ID" },                                                                  \
    {                                                                          \
        "ambient", 0, 0, G_OPTION_ARG_NONE, &(options)->ambient,               \
            "count steps of changes outside commands, too", NULL               \
    }

/* If --step was given and is not a step number, print a message and return
 * false. */
static bool parse_step(const char *name, struct undo_options *options)
{
    gint64 step;

    if (!options->step_word)
        return true;
    if (!g_ascii_string_to_signed(options->step_word, 10, G_MININT64,
                                  G_MAXINT64, &step, NULL) ||
        step == 0) {
        cli_options_wrong("%s: --step: '%s' is not a step number; '" CLI_PROGRAM
                          " history' lists them",
                          name, options->step_word);
        return false;
    }
    options->step = step;
    return true;
}

/* Find the folder and run the request. paths: the words after "--", or NULL. */
static int run_or_restore(struct request *r, struct cli_place *place,
                          char **paths)
{
    json_t *list;

    cli_lookup_place(place);
    if (!paths)
        return run_request(r);
    list = cli_paths_resolve("undo", place, paths);
    return list ? cli_restore(place, &r->extent, list, r->verb->dry, r->json)
                : CLI_USAGE;
}

/* If the command line is contradictory, print a message and return false. */
static bool make_request(const char *name, const struct verb *verb,
                         struct undo_options *options, int argc, char **argv,
                         struct request *ret_request)
{
    guint64 steps = parse_steps(name, argc, argv);

    if (steps == 0 || !parse_step(name, options))
        return false;
    if (options->step && (argc > 1 || options->ambient)) {
        cli_options_wrong("%s: --step excludes a number of steps and --ambient",
                          name);
        return false;
    }
    *ret_request = (struct request){
        .verb = verb,
        .place = &options->place,
        .extent = { .steps = (gint64)steps,
                    .step_id = options->step,
                    .counts = options->ambient ? "changes" : "commands",
                    .force = options->force },
        .json = options->json,
        .ambient = options->ambient,
    };
    return true;
}

int cli_undo(int argc, char **argv)
{
    struct undo_options options = { 0 };
    gboolean forget = FALSE, dry = FALSE, yes = FALSE;
    char **paths = cli_paths_cut(&argc, argv);
    int exit_code = CLI_USAGE;
    struct request request;
    const GOptionEntry entries[] = {
        CLI_PLACE_OPTIONS(&options.place),
        UNDO_OPTIONS(&options),
        { "force", 0, 0, G_OPTION_ARG_NONE, &options.force,
          "undo despite edits by other programs or a damaged record", NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &options.json,
          "print JSON, errors included", NULL },
        { "dry-run", 'n', 0, G_OPTION_ARG_NONE, &dry,
          "list what would change; change nothing", NULL },
        { "discard", 0, 0, G_OPTION_ARG_NONE, &forget,
          "forget all steps instead of undoing one; keep the folder as it is",
          NULL },
        { "yes", 'y', 0, G_OPTION_ARG_NONE, &yes,
          "do not ask: undo changes that came after the command, too; with "
          "--discard: forget",
          NULL },
        { NULL },
    };

    if (cli_options_parse("[N] [-- PATH...] - undo the newest command, or the "
                          "newest N; or restore only these paths, as a new "
                          "step",
                          entries, false, &argc, &argv) &&
        make_request("undo", dry ? &verb_preview : &verb_undo, &options, argc,
                     argv, &request)) {
        request.yes = yes;
        if (forget && (argc > 1 || options.force || dry || options.step ||
                       options.ambient || paths))
            cli_options_wrong("undo: --discard undoes no steps");
        else if (forget) /* discard works on the named folder only */
            exit_code = cli_discard(&options.place, yes, options.json);
        else
            exit_code = run_or_restore(&request, &options.place, paths);
    }
    cli_place_clear(&options.place);
    g_free(options.step_word);
    return exit_code;
}

int cli_preview(int argc, char **argv)
{
    struct undo_options options = { 0 };
    char **paths = cli_paths_cut(&argc, argv);
    int exit_code = CLI_USAGE;
    struct request request;
    const GOptionEntry entries[] = {
        CLI_PLACE_OPTIONS(&options.place),
        UNDO_OPTIONS(&options),
        { "force", 0, 0, G_OPTION_ARG_NONE, &options.force,
          "as undo --force would do it", NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &options.json,
          "print JSON, errors included", NULL },
        { NULL },
    };

    if (cli_options_parse("[N] [-- PATH...] - list what undo would change, and "
                          "change nothing",
                          entries, false, &argc, &argv) &&
        make_request("preview", &verb_preview, &options, argc, argv, &request))
        exit_code = run_or_restore(&request, &options.place, paths);
    cli_place_clear(&options.place);
    g_free(options.step_word);
    return exit_code;
}

int cli_redo(int argc, char **argv)
{
    struct undo_options options = { 0 };
    int exit_code = CLI_USAGE;
    struct request request;
    const GOptionEntry entries[] = {
        CLI_PLACE_OPTIONS(&options.place),
        { "force", 0, 0, G_OPTION_ARG_NONE, &options.force,
          "redo despite edits by other programs", NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &options.json,
          "print JSON, errors included", NULL },
        { NULL },
    };

    if (cli_options_parse("[N] - revert the last undo, or the last N, as long "
                          "as nothing else has changed",
                          entries, false, &argc, &argv) &&
        make_request("redo", &verb_redo, &options, argc, argv, &request)) {
        request.extent.counts = "changes";
        cli_lookup_place(&options.place);
        exit_code = run_request(&request);
    }
    cli_place_clear(&options.place);
    return exit_code;
}
