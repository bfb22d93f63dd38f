/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_undo - "stepback undo" and "stepback redo".
 */
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_discard.h"
#include "agent/cli/cli_extent_to.h"
#include "agent/cli/cli_lookup.h"
#include "agent/cli/cli_newer.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_paths.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_restore.h"
#include "agent/cli/cli_summary.h"
#include "agent/cli/cli_terminal.h"
#include "agent/cli/cli_undid.h"
#include "agent/cli/cli_undo_options.h"
#include "agent/client/report_json.h"
#include "common/errors.h"

/* A command's request, and how its answer is printed. */
struct verb {
    const char *name, *request, *done;
    enum cli_deed deed;
};

static const struct verb verb_undo = { "undo", "rollback", "undone",
                                       CLI_UNDID };
static const struct verb verb_redo = { "redo", "redo", "redone", CLI_REDID };
static const struct verb verb_preview = { "undo", "preview", "would be undone",
                                          CLI_WOULD_UNDO };

/* Nothing is done; the changes are listed. */
static bool is_dry(const struct verb *verb)
{
    return verb->deed == CLI_WOULD_UNDO;
}

struct request {
    const struct verb *verb;
    const struct cli_place *place;
    struct cli_output output;
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

    for (guint i = 0;
         !is_dry(r->verb) && result->steps && i < result->steps->len; i++)
        done += r->extent.step_id ||
                cli_newer_counts(&r->extent,
                                 g_ptr_array_index(result->steps, i));
    return done;
}

static void print_next_command(const struct request *r, gint64 done, bool force)
{
    g_autofree char *command = cli_place_command(r->place, r->verb->name);

    fprintf(stderr, "To go on: %s ", command);
    if (r->extent.keep)
        fprintf(stderr, "--to %" G_GINT64_FORMAT, r->extent.keep);
    else if (r->extent.step_id)
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
            g_ptr_array_index(result->barriers, i),
            cli_terminal_fit_width(STDERR_FILENO));

        fprintf(stderr, "%s\n", line);
    }
    fprintf(stderr, "--force %ses anyway; %s\n", r->verb->name,
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

static int print_failure(struct request *r, const GError *error,
                         const struct undo_result *result)
{
    gint64 done = count_done(r, result);
    int code = error_code_of(error);

    cli_undid_print(r->verb->deed,
                    r->extent.force && code != ERROR_INVALID_DIRECTORY, result,
                    &r->output);
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

static int failed(struct request *r, const GError *error, json_t *data)
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
    if (!is_dry(r->verb))
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

/* Only a preview is paged: what undo has done is one line for each step. */
static void print_done(struct request *r, const struct undo_result *result)
{
    if (is_dry(r->verb))
        cli_output_page(&r->output);
    cli_undid_print(r->verb->deed, r->extent.force, result, &r->output);
    cli_output_end(&r->output);
}

static int run_request(struct request *r)
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
        print_done(r, result);
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

/* Of --to: find the steps. Return false if there is nothing to do, with the
 * exit code. */
static bool find_newer(struct request *r, int *ret_exit_code)
{
    g_autoptr(GError) error = NULL;

    if (!r->extent.keep)
        return true;
    if (!cli_extent_to(r->place, &r->extent, &error)) {
        *ret_exit_code = cli_place_failed(r->place, error, NULL, r->json);
        return false;
    }
    if (r->extent.step_id)
        return true;
    if (r->json) {
        json_t *answer = json_pack("{s:[], s:[], s:[]}", "steps", "barriers",
                                   "warnings");

        cli_place_print_json(answer);
        json_decref(answer);
    } else {
        printf("nothing to undo: step %" G_GINT64_FORMAT " is the newest\n",
               r->extent.keep);
    }
    *ret_exit_code = CLI_OK;
    return false;
}

/* Find the folder and run the request. paths: the words after "--", or NULL. */
static int run_or_restore(struct request *r, struct cli_place *place,
                          char **paths)
{
    int exit_code;
    json_t *list;

    cli_lookup_place(place);
    list = paths ? cli_paths_resolve("undo", place, paths) : NULL;
    if (paths && !list)
        return CLI_USAGE;
    if (!find_newer(r, &exit_code)) {
        json_decref(list);
        return exit_code;
    }
    return list ? cli_restore(place, &r->extent, list, is_dry(r->verb), r->json,
                              &r->output)
                : run_request(r);
}

/* If the command line is wrong, print a message and return false. */
static bool make_request(const char *name, const struct verb *verb,
                         struct cli_undo_options *options, int argc,
                         char **argv, struct request *ret_request)
{
    *ret_request = (struct request){
        .verb = verb,
        .place = &options->place,
        .json = options->json,
        .ambient = options->ambient,
    };
    return cli_undo_options_extent(name, options, argc, argv,
                                   &ret_request->extent) &&
           cli_output_init(&ret_request->output, name, &options->output);
}

int cli_undo(int argc, char **argv)
{
    struct cli_undo_options options = { 0 };
    gboolean forget = FALSE, dry = FALSE, yes = FALSE;
    char **paths = cli_paths_cut(&argc, argv);
    int exit_code = CLI_USAGE;
    struct request request;
    const GOptionEntry entries[] = {
        CLI_PLACE_OPTIONS(&options.place),
        CLI_UNDO_STEPS(&options),
        CLI_OUTPUT_COLOR(&options.output),
        CLI_OUTPUT_PAGER(&options.output),
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
        if (forget && (argc > 1 || options.force || dry || options.step_word ||
                       options.to_word || options.ambient || paths))
            cli_options_wrong("undo: --discard undoes no steps");
        else if (forget) /* discard works on the named folder only */
            exit_code = cli_discard(&options.place, yes, options.json);
        else
            exit_code = run_or_restore(&request, &options.place, paths);
    }
    cli_undo_options_clear(&options);
    return exit_code;
}

int cli_preview(int argc, char **argv)
{
    struct cli_undo_options options = { 0 };
    char **paths = cli_paths_cut(&argc, argv);
    int exit_code = CLI_USAGE;
    struct request request;
    const GOptionEntry entries[] = {
        CLI_PLACE_OPTIONS(&options.place),
        CLI_UNDO_STEPS(&options),
        CLI_OUTPUT_COLOR(&options.output),
        CLI_OUTPUT_PAGER(&options.output),
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
    cli_undo_options_clear(&options);
    return exit_code;
}

int cli_redo(int argc, char **argv)
{
    struct cli_undo_options options = { 0 };
    int exit_code = CLI_USAGE;
    struct request request;
    const GOptionEntry entries[] = {
        CLI_PLACE_OPTIONS(&options.place),
        CLI_OUTPUT_COLOR(&options.output),
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
    cli_undo_options_clear(&options);
    return exit_code;
}
