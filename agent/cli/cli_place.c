/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_place - see cli_place.h.
 */
#include "agent/cli/cli_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_busy.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_progress.h"
#include "agent/cli/cli_summary.h"
#include "agent/base/log_above.h"
#include "agent/base/log_place.h"
#include "agent/client/undo_client.h"
#include "common/errors.h"
#include "common/message.h"
#include "interceptor/interceptor.h"

void cli_place_clear(struct cli_place *place)
{
    g_free(place->dir);
    g_free(place->undo_dir);
    g_free(place->below);
}

/* Rewrites one terminal line, which is cleared at the end. */
static void print_progress(json_t *payload)
{
    gint64 done = json_integer_value(json_object_get(payload, "done"));
    gint64 total = json_integer_value(json_object_get(payload, "total"));
    gint64 step = json_integer_value(json_object_get(payload, "step_id"));
    g_autofree char *text = NULL;

    if (done < total)
        text = g_strdup_printf("step %" G_GINT64_FORMAT ": %" G_GINT64_FORMAT
                               " of %" G_GINT64_FORMAT,
                               step, done, total);
    if (text)
        cli_progress_rewrite(text);
    else
        cli_progress_hide();
}

/* Programs that look first and then change open a log twice, and some warnings
 * are part of an answer, too: print each warning once. */
static bool is_news(const char *text)
{
    static GHashTable *told;

    if (!told)
        told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return text && g_hash_table_add(told, g_strdup(text));
}

void cli_place_warn(const char *text)
{
    g_autofree char *shown = text ? cli_options_printable(text) : NULL;

    cli_progress_hide();
    if (is_news(shown))
        fprintf(stderr, CLI_PROGRAM ": warning: %s\n", shown);
}

static void print_recovery(json_t *report)
{
    g_autofree char *text = cli_summary_recovery(report);

    if (is_news(text))
        fprintf(stderr, CLI_PROGRAM ": %s\n", text);
}

static void print_unfinished(json_t *report)
{
    g_autofree char *text = cli_summary_unfinished(report);

    if (is_news(text))
        fprintf(stderr, CLI_PROGRAM ": %s\n", text);
}

static bool has_code(json_t *payload, const char *code)
{
    return g_strcmp0(json_string_value(json_object_get(payload, "code")),
                     code) == 0;
}

static void on_event(const char *type, json_t *payload)
{
    if (strcmp(type, "event.progress") != 0)
        cli_progress_hide();
    if (strcmp(type, "event.recovery") == 0)
        print_recovery(payload);
    else if (strcmp(type, "event.progress") == 0)
        print_progress(payload);
    else if (strcmp(type, "event.warning") != 0)
        return;
    else if (has_code(payload, "step_unfinished"))
        print_unfinished(payload);
    else
        cli_place_warn(json_string_value(json_object_get(payload, "message")));
}

static struct undo_client *open_client(const struct cli_place *place,
                                       enum undo_client_purpose purpose,
                                       GError **error)
{
    g_autofree char *dir = g_canonicalize_filename(
        place->dir ? place->dir : ".", NULL);
    g_autofree char *undo_dir = place->undo_dir ? g_canonicalize_filename(
                                                      place->undo_dir, NULL)
                                                : NULL;

    ic_set_log(0, CLI_PROGRAM);
    return undo_client_open(dir, undo_dir, purpose, on_event, error);
}

static json_t *ask_once(const struct cli_place *place,
                        enum undo_client_purpose purpose, const char *type,
                        json_t *payload, json_t **ret_data, GError **error)
{
    struct undo_client *client = open_client(place, purpose, error);
    json_t *answer;

    if (!client) {
        json_decref(payload);
        return NULL;
    }
    answer = undo_client_ask(client, type, payload, ret_data, error);
    undo_client_close(client);
    return answer;
}

json_t *cli_place_ask(const struct cli_place *place, const char *type,
                      json_t *payload, json_t **ret_data, GError **error)
{
    bool discards = strcmp(type, "discard") == 0;

    return ask_once(place, discards ? UNDO_CLIENT_DISCARD : UNDO_CLIENT_LOOK,
                    type, payload, ret_data, error);
}

json_t *cli_place_change(const struct cli_place *place, const char *type,
                         json_t *payload, json_t **ret_data, GError **error)
{
    return ask_once(place, UNDO_CLIENT_CHANGE, type, payload, ret_data, error);
}

json_t *cli_place_history(const struct cli_place *place, int limit,
                          GError **error)
{
    struct undo_client *client = open_client(place, UNDO_CLIENT_LOOK, error);
    json_t *answer, *status, *unfinished;

    if (!client)
        return NULL;
    answer = undo_client_ask(client, "history",
                             json_pack("{s:i}", "limit", limit), NULL, error);
    if (answer) {
        status = undo_client_ask(client, "status", NULL, NULL, NULL);
        unfinished = undo_client_unfinished(client);
        json_object_set_new(
            answer, "open_step",
            status ? json_incref(json_object_get(status, "open_step"))
                   : json_null());
        json_object_set_new(answer, "unfinished",
                            unfinished ? unfinished : json_null());
        if (json_object_get(status, "open_command"))
            json_object_set(answer, "open_command",
                            json_object_get(status, "open_command"));
        json_decref(status);
    }
    undo_client_close(client);
    return answer;
}

/* Insert a report before the steps of an answer or of an error's data. *answer
 * may be NULL. report is taken. */
static void add_first(json_t **answer, json_t *report)
{
    if (!*answer)
        *answer = json_pack("{s:[], s:[], s:[]}", "steps", "barriers",
                            "warnings");
    json_object_del(report, "undoable"); /* the step is undone by now */
    json_array_insert_new(json_object_get(*answer, "steps"), 0, report);
}

static bool is_step(json_t *report, gint64 id)
{
    return json_integer_value(json_object_get(report, "step_id")) == id;
}

json_t *cli_place_extent(const struct cli_extent *extent)
{
    return extent->step_id
               ? json_pack("{s:I, s:b}", "down_to", (json_int_t)extent->step_id,
                           "force", extent->force)
               : json_pack("{s:I, s:s, s:b}", "steps",
                           (json_int_t)extent->steps, "counts", extent->counts,
                           "force", extent->force);
}

json_t *cli_place_go(const struct cli_place *place, const char *type,
                     const struct cli_extent *extent, json_t **ret_data,
                     GError **error)
{
    bool insists = extent->force && strcmp(type, "rollback") == 0;
    struct undo_client *client = open_client(
        place, insists ? UNDO_CLIENT_INSIST : UNDO_CLIENT_CHANGE, error);
    struct cli_extent left = *extent;
    json_t *first, *answer = NULL;
    bool done;

    if (!client)
        return NULL;
    first = strcmp(type, "redo") == 0 ? undo_client_redone(client)
                                      : undo_client_recovered(client);
    left.steps -= first ? 1 : 0;
    done = extent->step_id ? first && is_step(first, extent->step_id)
                           : left.steps == 0;
    if (!done)
        answer = undo_client_ask(client, type, cli_place_extent(&left),
                                 ret_data, error);
    if (first)
        add_first(answer || done ? &answer : ret_data, first);
    undo_client_close(client);
    return answer;
}

void cli_place_warn_all(const GPtrArray *texts)
{
    for (guint i = 0; texts && i < texts->len; i++)
        cli_place_warn(g_ptr_array_index(texts, i));
}

char *cli_place_inside(const char *dir)
{
    g_autofree char *logs = log_place_logs(dir);
    GDir *list = logs ? g_dir_open(logs, 0, NULL) : NULL;
    const char *name;
    char *found = NULL;

    while (list && !found && (name = g_dir_read_name(list))) {
        g_autofree char *version = g_build_filename(logs, name, "version",
                                                    NULL);

        if (g_file_test(version, G_FILE_TEST_IS_REGULAR))
            found = g_build_filename(logs, name, NULL);
    }
    g_clear_pointer(&list, g_dir_close);
    return found;
}

/* Return word as a shell's $'...' (POSIX.1-2024), in which each byte but plain
 * ASCII is an octal number: a new string. */
static char *quote_bytes(const char *word)
{
    GString *quoted = g_string_new("$'");

    for (const char *p = word; *p; p++) {
        if (g_ascii_isprint(*p) && *p != '\'' && *p != '\\')
            g_string_append_c(quoted, *p);
        else
            g_string_append_printf(quoted, "\\%03o", (unsigned char)*p);
    }
    return g_string_free(g_string_append_c(quoted, '\''), FALSE);
}

char *cli_place_quote(const char *word)
{
    size_t plain = strspn(word, "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-");

    return *word && word[plain] == '\0' ? g_strdup(word) : g_shell_quote(word);
}

char *cli_place_quote_to_print(const char *word)
{
    g_autofree char *shown = cli_options_printable(word);

    return strcmp(shown, word) == 0 ? cli_place_quote(word) : quote_bytes(word);
}

char *cli_place_command(const struct cli_place *place, const char *command)
{
    GString *line = g_string_new(CLI_PROGRAM " ");

    g_string_append(line, command);
    if (place->dir) {
        g_autofree char *dir = cli_place_quote_to_print(place->dir);

        g_string_append_printf(line, " -C %s", dir);
    }
    if (place->undo_dir) {
        g_autofree char *dir = cli_place_quote_to_print(place->undo_dir);

        g_string_append_printf(line, " --undo-dir %s", dir);
    }
    return g_string_free(line, FALSE);
}

/* JSON does not escape DEL and the C1 controls, which a terminal interprets. */
static void print_escaped(json_t *answer, size_t flags)
{
    char *text = json_dumps(answer, flags | JSON_ENSURE_ASCII);

    for (const char *p = text; p && *p; p++) {
        if (*p == 0x7f)
            fputs("\\u007f", stdout);
        else
            putchar(*p);
    }
    free(text);
}

void cli_place_print_json(json_t *answer)
{
    if (isatty(STDOUT_FILENO))
        print_escaped(answer, JSON_INDENT(2));
    else
        json_dumpf(answer, stdout, JSON_INDENT(2));
    putchar('\n');
}

void cli_place_print_json_line(json_t *object)
{
    print_escaped(object, JSON_COMPACT);
    putchar('\n');
}

static void print_json_error(const GError *error, json_t *data)
{
    json_t *response = message_gerror_with(NULL, error, json_incref(data));
    json_t *answer = json_pack("{s:s, s:O}", "status", "error", "error",
                               json_object_get(response, "error"));

    cli_place_print_json(answer);
    json_decref(answer);
    json_decref(response);
}

/* Describe which log was used: a parent folder may have one too, or the log may
 * be at another path. Returns a new string, or NULL. */
static char *name_log(const char *dir)
{
    g_autofree char *above = log_above_find_ours(dir);
    g_autofree char *log = ic_default_undo_dir(dir, NULL);

    if (above)
        return g_strdup_printf("a folder above has a log: %s", above);
    return log_above_is_at(dir)
               ? g_strdup_printf("looked in the undo log %s; if the log is "
                                 "elsewhere, use --undo-dir",
                                 log)
               : NULL;
}

/* Return what to type if a step is not there, as a new string. */
static char *name_history(const struct cli_place *place)
{
    const char *dir = place->dir ? place->dir : ".";
    g_autofree char *log = place->undo_dir ? NULL : name_log(dir);
    g_autofree char *history = cli_place_command(place, "history");
    g_autofree char *run = cli_place_command(place, "run");

    if (!place->undo_dir && !log)
        return g_strdup_printf("to record steps, run commands with: %s -- CMD",
                               run);
    return g_strdup_printf("%s%sto list the steps: %s", log ? log : "",
                           log ? "\n" : "", history);
}

/* Return the remedy for an error as a new string, or NULL. */
static char *remedy(const struct cli_place *place, const GError *error)
{
    g_autofree char *undo = cli_place_command(place, "undo");

    switch (error_code_of(error)) {
    case ERROR_UNDO_VERSION_MISMATCH:
        return g_strdup_printf("To forget the log: %s --discard", undo);
    case ERROR_STEP_UNPROTECTED:
        return g_strdup_printf("To forget all steps (the folder stays as it "
                               "is): %s --discard",
                               undo);
    case ERROR_PREIMAGE_MISSING:
    case ERROR_PREIMAGE_CORRUPT:
        return g_strdup("To undo what is left of the step, or to pass it by, "
                        "add --force");
    case ERROR_STEP_ACTIVE:
        return g_strdup(
            "A command of 'stepback run', of a frontend or of an assistant "
            "runs in the folder: wait for its end, or stop the command. If a "
            "file server without a machine serves the folder, its client must "
            "close the step; a restart of the server rolls the step back.");
    case ERROR_NOTHING_TO_UNDO:
    case ERROR_NOTHING_TO_REDO:
    case ERROR_NOT_FOUND:
        return name_history(place);
    default:
        return NULL;
    }
}

static void name_open_command(const struct cli_place *place)
{
    json_t *status = cli_place_ask(place, "status", NULL, NULL, NULL);
    g_autofree char *command = cli_summary_open_command(status);

    if (*command)
        fprintf(stderr, "Its command: %s\n", command);
    json_decref(status);
}

int cli_place_failed(const struct cli_place *place, const GError *error,
                     json_t *data, bool json)
{
    g_autofree char *help = remedy(place, error);
    g_autofree char *busy = NULL;

    if (json) {
        print_json_error(error, data);
        return CLI_FAILED;
    }
    if (error_code_of(error) == ERROR_STEP_ACTIVE)
        busy = cli_busy_describe(place->dir ? place->dir : ".",
                                 place->undo_dir);
    if (busy)
        return cli_options_failed("%s", busy);
    cli_options_failed("%s", error->message);
    if (error_code_of(error) == ERROR_STEP_ACTIVE)
        name_open_command(place);
    if (help)
        fprintf(stderr, "%s\n", help);
    return CLI_FAILED;
}
