/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_diff - "stepback diff".
 */
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "agent/base/cli_text.h"
#include "agent/client/patch.h"
#include "agent/cli/cli.h"
#include "agent/cli/cli_lookup.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_output.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_stat.h"
#include "common/errors.h"

struct request {
    const struct cli_place *place;
    gint64 step;        /* 0: the newest */
    char *const *paths; /* the requested paths; empty: all */
    char **wanted;      /* the same, relative to the folder */
    bool json;
    struct cli_output output;
    struct cli_stat *stat; /* --stat; or NULL */
    bool found;            /* set: a requested path was found */
    gint64 cut;       /* set: number of changes that the log does not list */
    gboolean partial; /* set: the step is unprotected */
};

/* Return 0 and error if there is none. */
static gint64 newest_step(const struct cli_place *place, GError **error)
{
    json_t *answer = cli_place_ask(place, "history",
                                   json_pack("{s:i}", "limit", 1), NULL, error);
    json_t *steps = json_object_get(answer, "steps");
    gint64 id = json_integer_value(
        json_object_get(json_array_get(steps, 0), "step_id"));

    if (answer && id == 0)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_NOTHING_TO_UNDO,
                            "the history is empty");
    json_decref(answer);
    return id;
}

static gboolean print_file(struct request *r, json_t *file, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);

    if (!patch_append(text, file, error))
        return FALSE;
    if (!r->output.pager && text->len > 0)
        cli_output_page(&r->output);
    cli_text_print_patch(text->str, text->len, r->output.color,
                         r->output.terminal);
    return TRUE;
}

/* Output a part of the diff: print it, or with --json append it to files. */
static gboolean output_part(struct request *r, json_t *answer, json_t *files,
                            GError **error)
{
    json_t *file;
    size_t i;

    json_array_foreach(json_object_get(answer, "files"), i, file)
    {
        if (!patch_is_wanted(file, r->wanted))
            continue;
        r->found = true;
        if (r->stat && !cli_stat_add(r->stat, file, error))
            return FALSE;
        if (r->stat)
            continue;
        if (r->json)
            json_array_append(files, file);
        else if (!print_file(r, file, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean diff(struct request *r, gint64 step, json_t *files,
                     GError **error)
{
    gint64 first = 0;
    gboolean ok;

    do {
        json_t *answer = cli_place_ask(r->place, "diff",
                                       json_pack("{s:I, s:I}", "step_id",
                                                 (json_int_t)step, "first",
                                                 (json_int_t)first),
                                       NULL, error);

        ok = answer && output_part(r, answer, files, error);
        first = json_integer_value(json_object_get(answer, "next"));
        r->cut = json_integer_value(json_object_get(answer, "cut"));
        r->partial = json_is_true(json_object_get(answer, "unprotected"));
        json_decref(answer);
    } while (ok && first > 0 && !ferror(stdout)); /* the reader has ended */
    if (ok && !r->found && r->paths[0]) {
        /* The path may have been meant as a step number. */
        g_set_error(error, STEPBACK_ERROR, ERROR_NOT_FOUND,
                    "step %" G_GINT64_FORMAT " changed nothing at %s%s", step,
                    r->paths[0], r->paths[1] ? " or the other paths" : "");
        return FALSE;
    }
    return ok;
}

/* text is taken. */
static void warn(char *text)
{
    cli_place_warn(text);
    g_free(text);
}

static void find_paths(struct request *r)
{
    size_t n = g_strv_length((char **)r->paths);

    r->wanted = g_new0(char *, n + 1);
    for (size_t i = 0; i < n; i++)
        r->wanted[i] = cli_lookup_path(r->place, r->paths[i]);
}

static void print_json(const struct request *r, gint64 step, json_t *files)
{
    json_t *shown = r->stat ? cli_stat_to_json(r->stat) : json_incref(files);
    json_t *answer = json_pack("{s:I, s:o, s:I}", "step_id", (json_int_t)step,
                               "files", shown, "cut", (json_int_t)r->cut);

    if (r->partial)
        json_object_set_new(answer, "unprotected", json_true());
    cli_place_print_json(answer);
    json_decref(answer);
}

static void print_stat(struct request *r)
{
    cli_output_page(&r->output);
    cli_stat_print(r->stat, &r->output);
}

static int failed(const struct request *r, const GError *error)
{
    int exit_code = cli_place_failed(r->place, error, NULL, r->json);
    g_autofree char *history = cli_place_command(r->place, "history");

    if (!r->json && error_code_of(error) == ERROR_INVALID_FIELD)
        fprintf(stderr, "to list the steps: %s\n", history);
    return exit_code;
}

static int run_request(struct request *r)
{
    g_autoptr(GError) error = NULL;
    json_t *files = json_array();
    gint64 step = r->step ? r->step : newest_step(r->place, &error);
    int exit_code = CLI_OK;
    bool ok;

    find_paths(r);
    ok = step && diff(r, step, files, &error);
    if (ok && r->stat && !r->json)
        print_stat(r);
    cli_output_end(&r->output); /* before messages on stderr */
    if (!ok) {
        exit_code = failed(r, error);
    } else if (r->json) {
        print_json(r, step, files);
    } else {
        if (r->partial)
            warn(patch_note_partial(step));
        if (r->cut > 0)
            warn(patch_note_cut(step, r->cut));
    }
    json_decref(files);
    g_strfreev(r->wanted);
    return exit_code;
}

/* "[STEP] [PATH...]": an argument that is not a number is a path. */
static void parse_arguments(struct request *r, char **argv)
{
    gint64 id;

    if (argv[0] && g_ascii_string_to_signed(argv[0], 10, G_MININT64, G_MAXINT64,
                                            &id, NULL)) {
        r->step = id;
        argv++;
    }
    r->paths = argv;
}

int cli_diff(int argc, char **argv)
{
    struct cli_place place = { 0 };
    struct cli_output_options options = { 0 };
    gboolean json = FALSE, stat = FALSE;
    int exit_code = CLI_USAGE;
    const GOptionEntry entries[] = {
        CLI_PLACE_OPTIONS(&place),
        CLI_OUTPUT_COLOR(&options),
        CLI_OUTPUT_PAGER(&options),
        { "stat", 0, 0, G_OPTION_ARG_NONE, &stat,
          "print how many lines changed in each file, and no patch", NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON, errors included",
          NULL },
        { NULL },
    };
    struct request request = { .place = &place };

    if (cli_options_parse_with(
            "[STEP] [PATH...] - show what a step changed in files",
            "STEP is a number that \"" CLI_PROGRAM " history\" lists (default: "
            "the newest). Write \"--\"\nbefore a number below 0. PATHs are "
            "relative to the working folder.",
            entries, false, &argc, &argv)) {
        request.json = json;
        request.stat = stat ? cli_stat_new() : NULL;
        parse_arguments(&request, argv + 1);
        cli_lookup_place(&place);
        if (cli_output_init(&request.output, "diff", &options))
            exit_code = run_request(&request);
        cli_stat_free(request.stat);
    }
    g_free(options.color);
    cli_place_clear(&place);
    return exit_code;
}
