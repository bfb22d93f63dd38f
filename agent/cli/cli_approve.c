/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_approve - "stepback approve": list the requests of a running sandbox that
 * wait for a decision, and decide one.
 *
 * Who asks may be a guest: its words are printed escaped.
 */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_approval.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/cli_table.h"
#include "common/json_bytes.h"

typedef struct answer {
    gboolean json, deny, read_only, always;
    char *path;
} answer_t;

static void answer_clear(struct answer *answer)
{
    g_free(answer->path);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(answer_t, answer_clear)

static int failed(GError *error)
{
    cli_options_failed("%s", error->message);
    g_error_free(error);
    return CLI_FAILED;
}

/* ---- the list ------------------------------------------------------------ */

static void print_list(const struct cli_output *output, json_t *approvals)
{
    /* A part of a name or path could mislead: it is not cut. */
    static const struct cli_table_column columns[] = {
        { "ID", TABLE_LEFT },
        { "KIND", TABLE_LEFT },
        { "FROM", TABLE_LEFT },
        { "ACCESS", TABLE_LEFT },
        { "WHAT", TABLE_WRAP },
        { "REASON", TABLE_END },
        { NULL },
    };
    g_autoptr(cli_table) table = cli_table_new(output, columns);
    json_t *approval;
    size_t i;

    json_array_foreach(approvals, i, approval)
    {
        bool is_grant = cli_approval_is_grant(approval);
        bool is_network = cli_approval_is_network(approval);

        cli_table_add(table, g_strdup(cli_approval_word(approval, "id")),
                      g_strdup(cli_approval_word(approval, "kind")),
                      g_strdup(is_grant || is_network
                                   ? cli_approval_word(approval, "origin")
                                   : "-"),
                      g_strdup(is_grant ? cli_approval_word(approval, "access")
                               : is_network ? "connect"
                                            : "-"),
                      cli_approval_describe(approval),
                      cli_approval_text(approval, "reason"));
        cli_table_paint(table, 0, PAINT_ID);
    }
    cli_table_print(table);
}

static int list(const struct sandbox_record *record, bool json,
                const struct cli_output *output)
{
    GError *error = NULL;
    json_t *answer = cli_sandbox_ask(record, "approval.list", NULL, &error);
    json_t *approvals = json_object_get(answer, "approvals");

    if (!answer)
        return failed(error);
    if (json)
        cli_place_print_json(approvals);
    else
        print_list(output, approvals);
    json_decref(answer);
    return CLI_OK;
}

/* ---- decide -------------------------------------------------------------- */

static void print_connection(json_t *answer)
{
    g_autofree char *what = cli_approval_describe(answer);
    bool always = strcmp(cli_approval_word(answer, "duration"), "always") == 0;

    printf("allowed: %s (%s)\n", what,
           always ? "always: the network policy has it now"
                  : "once: further connections ask again");
}

static void print_outcome(json_t *answer)
{
    json_t *folder = json_object_get(answer, "folder");
    g_autofree char *path = cli_approval_path(folder, "path");
    g_autofree char *guest = cli_approval_text(folder, "guest_path");

    if (cli_approval_is_network(answer) && json_object_get(answer, "duration"))
        print_connection(answer);
    if (folder)
        printf("granted: %s at %s (%s, %s)\n", path, guest,
               cli_approval_word(folder, "access"),
               cli_approval_word(json_object_get(folder, "grant"), "duration"));
}

static int decide(const struct sandbox_record *record, const char *id,
                  const struct answer *options)
{
    json_t *payload = json_pack("{s:s, s:s, s:s*, s:s*}", "id", id, "decision",
                                options->deny ? "deny" : "allow", "access",
                                options->read_only ? "read_only" : NULL,
                                "duration", options->always ? "always" : NULL);
    g_autofree char *path = options->path
                                ? g_canonicalize_filename(options->path, NULL)
                                : NULL;
    GError *error = NULL;
    json_t *answer;

    if (path)
        json_object_set_new(payload, "path", json_bytes_path(path));
    answer = cli_sandbox_ask(record, "approval.decide", payload, &error);
    if (!answer)
        return failed(error);
    if (options->json)
        cli_place_print_json(answer);
    else
        print_outcome(answer);
    json_decref(answer);
    return CLI_OK;
}

/* ---- the arguments ------------------------------------------------------- */

static bool is_number(const char *word)
{
    return *word && !word[strspn(word, "0123456789")];
}

/* "approval-7", or 7 for short, or of a safeguard "sg_3_1". */
static bool is_id(const char *word)
{
    return g_str_has_prefix(word, "approval-") ||
           g_str_has_prefix(word, "sg_") || is_number(word);
}

/* ret_id: a new string. */
static bool parse_words(char **words, const char **ret_name, char **ret_id)
{
    *ret_name = words[0] && (words[1] || !is_id(words[0])) ? *words++ : NULL;
    if (words[0])
        *ret_id = g_strdup_printf(
            "%s%s", is_number(words[0]) ? "approval-" : "", words[0]);
    return !words[0] || !words[1];
}

int cli_approve(int argc, char **argv)
{
    g_auto(answer_t) answer = { 0 };
    g_auto(cli_output_options) options = { 0 };
    struct cli_output output;
    const GOptionEntry entries[] = {
        { "deny", 0, 0, G_OPTION_ARG_NONE, &answer.deny,
          "deny the request (default: allow it)", NULL },
        { "path", 0, 0, G_OPTION_ARG_FILENAME, &answer.path,
          "grant this folder in the one that was asked for", "DIR" },
        { "ro", 0, 0, G_OPTION_ARG_NONE, &answer.read_only,
          "grant the folder read-only", NULL },
        { "always", 0, 0, G_OPTION_ARG_NONE, &answer.always,
          "grant it at later starts, too; of a connection: add the name and "
          "port to the network policy",
          NULL },
        { "json", 0, 0, G_OPTION_ARG_NONE, &answer.json, "print JSON", NULL },
        CLI_OUTPUT_COLOR(&options),
        { NULL },
    };
    g_autoptr(sandbox_record) record = NULL;
    g_autofree char *id = NULL;
    const char *name;

    if (!cli_options_parse("[NAME] [ID] - list what a sandbox asks for, or "
                           "decide a request",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    if (!cli_output_init(&output, "approve", &options))
        return CLI_USAGE;
    if (!parse_words(argv + 1, &name, &id))
        return cli_options_surplus("approve", argv[3]);
    if (!id &&
        (answer.deny || answer.path || answer.read_only || answer.always))
        return cli_options_wrong("approve: name the request; '" CLI_PROGRAM
                                 " approve' lists them");
    if (answer.deny && (answer.path || answer.read_only || answer.always))
        return cli_options_wrong("approve: --deny grants nothing: omit --path, "
                                 "--ro and --always");
    record = cli_sandbox_find(name, CLI_SANDBOX_RUNNING);
    if (!record)
        return CLI_FAILED;
    return id ? decide(record, id, &answer)
              : list(record, answer.json, &output);
}
