/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_exec - "stepback exec" and "stepback shell": run a command, or a login
 * shell, in a running sandbox.
 */
#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_hints.h"
#include "agent/cli/cli_jobs.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/exec_client.h"
#include "agent/cli/exec_keys.h"
#include "agent/cli/exec_request.h"
#include "agent/cli/term_guard.h"
#include "agent/client/api_link.h"
#include "agent/session/session_events.h"

#define DETACH_KEYS "ctrl-p,ctrl-q"

enum {
    EARLY_END_MS = 300, /* more than a program needs to start */
    NOT_EXECUTABLE = 126,
    NOT_FOUND = 127, /* exit codes, as of the shell */
};

struct exec_options {
    struct exec_request request;
    gboolean interactive, terminal, detach, quiet, no_wait;
    char *keys;
    char *sequence; /* parsed */
};

static void options_clear(struct exec_options *options)
{
    exec_request_clear(&options->request);
    g_free(options->keys);
    g_free(options->sequence);
}

/* ---- arguments ----------------------------------------------------------- */

struct arguments {
    const char *name; /* or NULL */
    char **words;     /* the command */
};

/* Parse "[OPTIONS] [NAME] [OPTIONS] -- COMMAND...", or without "--"
 * "[OPTIONS] NAME COMMAND...". Return false after an error was printed. */
static bool parse(const GOptionEntry *entries, int argc, char **argv,
                  struct arguments *ret_arguments)
{
    int head = 0;
    bool has_dashes;

    while (head < argc && strcmp(argv[head], "--") != 0)
        head++;
    has_dashes = head < argc;
    ret_arguments->words = has_dashes ? argv + head + 1 : NULL;
    if (!cli_options_parse("[NAME] -- COMMAND [ARGUMENT...] - run a command in "
                           "a running sandbox",
                           entries, !has_dashes, &head, &argv))
        return false;
    ret_arguments->name = head > 1 ? argv[1] : NULL;
    if (!has_dashes)
        ret_arguments->words = argv + MIN(head, 2);
    else if (head > 2) {
        cli_options_wrong("exec: '%s' is one name too many", argv[2]);
        return false;
    }
    if (ret_arguments->words[0])
        return true;
    cli_options_wrong("exec: a command is missing: " CLI_PROGRAM
                      " exec [NAME] -- COMMAND");
    return false;
}

/* Parse the option --detach-keys; "" turns it off. */
static bool parse_keys(struct exec_options *options, const char *fallback)
{
    const char *text = options->keys ? options->keys : fallback;

    if (!text || !*text)
        return true;
    options->sequence = exec_keys_parse(text);
    if (options->sequence)
        return true;
    cli_options_wrong("--detach-keys: '%s' is no key sequence; it is like "
                      "\"" DETACH_KEYS "\"",
                      text);
    return false;
}

/* Ask for a terminal in the guest, of the size and kind of ours. */
static void add_terminal(json_t *payload)
{
    json_t *env = json_object_get(payload, "env");
    const char *term = g_getenv("TERM"), *colours = g_getenv("COLORTERM");
    unsigned rows = 24, columns = 80;

    term_guard_size(STDIN_FILENO, &rows, &columns);
    json_object_set_new(
        payload, "tty",
        json_pack("{s:i, s:i}", "rows", (int)rows, "columns", (int)columns));
    if (!json_object_get(env, "TERM"))
        json_object_set_new(env, "TERM",
                            json_string(term && *term ? term : "dumb"));
    if (colours && !json_object_get(env, "COLORTERM"))
        json_object_set_new(env, "COLORTERM", json_string(colours));
}

/* ---- exec ---------------------------------------------------------------- */

/* Wait a moment, and report an execution that has ended with an error by then.
 * Return the exit code of one that could not be started, or CLI_OK. */
static int report_early_end(const struct sandbox_record *record, char **words,
                            gint64 id)
{
    json_t *answer = api_link_ask_once(
        sandbox_record_socket(record, "api_socket"), "exec.wait",
        json_pack("{s:I}", "exec_id", (json_int_t)id), EARLY_END_MS, NULL);
    int code = (int)json_integer_value(json_object_get(answer, "exit_code"));
    bool is_started = code != NOT_FOUND && code != NOT_EXECUTABLE;

    json_decref(answer);
    if (code == 0)
        return CLI_OK;
    cli_options_failed("execution %" G_GINT64_FORMAT
                       ": it has ended at once, with exit code %d%s",
                       id, code,
                       is_started ? "; 'stepback job logs' prints "
                                    "its output"
                                  : "");
    if (is_started)
        return CLI_OK;
    cli_jobs_print_output(record, id, false);
    cli_hints_tell_not_found_in(record, words, code);
    return code;
}

static int start_detached(const struct sandbox_record *record, json_t *payload,
                          char **words)
{
    g_autoptr(GError) error = NULL;
    json_t *answer;
    gint64 id;

    json_object_set_new(payload, "detach", json_true());
    answer = cli_sandbox_ask(record, "exec.start", payload, &error);
    if (!answer) {
        cli_options_failed("%s", error->message);
        return CLI_RUN_FAILED;
    }
    id = json_integer_value(json_object_get(answer, "exec_id"));
    json_decref(answer);
    printf("%" G_GINT64_FORMAT "\n", id);
    fflush(stdout);
    return report_early_end(record, words, id);
}

/* Build the request; NULL after an error was printed. */
static json_t *make_request(const struct sandbox_record *record,
                            const struct exec_options *options)
{
    g_autoptr(GError) error = NULL;
    json_t *info = cli_sandbox_ask(record, "sandbox.info", NULL, &error);
    json_t *payload;

    if (!info) {
        cli_options_failed("%s", error->message);
        return NULL;
    }
    payload = exec_request_payload(&options->request, info);
    json_decref(info);
    if (payload && options->terminal)
        add_terminal(payload);
    else if (payload && options->interactive)
        json_object_set_new(payload, "stdin", json_true());
    return payload;
}

static void ask_for_login(json_t *payload)
{
    json_object_set_new(payload, "login", json_true());
    if (!json_object_get(payload, "step"))
        json_object_set_new(payload, "step", json_string("prompt"));
}

/* words: NULL starts a login shell. */
static int execute(const char *name, const struct exec_options *options,
                   char **words)
{
    const struct exec_client_options client = {
        .input = options->interactive,
        .terminal = options->terminal && options->interactive,
        .keys = options->terminal ? options->sequence : NULL,
        .report = !options->quiet,
        .is_shell = !words,
        .network = !options->quiet,
    };
    g_autoptr(sandbox_record)
        record = cli_sandbox_find(name, CLI_SANDBOX_RUNNING);
    json_t *payload = record ? make_request(record, options) : NULL;
    int exit_code;

    if (!payload)
        return CLI_RUN_FAILED;
    if (words)
        exec_request_set_argv(payload, words);
    else
        ask_for_login(payload);
    if (options->detach)
        return start_detached(record, payload, words);
    if (!words && !options->request.step)
        cli_hints_tell_one_step(record);
    exit_code = exec_client_run(record, "exec.start", payload, &client);
    if (words)
        cli_hints_tell_not_found_in(record, words, exit_code);
    return exit_code;
}

static bool check_terminal(const struct exec_options *options, const char *verb)
{
    if (!options->terminal || !options->interactive || options->detach ||
        isatty(STDIN_FILENO))
        return true;
    cli_options_wrong("%s: stdin is not a terminal; %s", verb,
                      strcmp(verb, "shell") == 0
                          ? "run commands with 'stepback exec'"
                          : "leave out -t");
    return false;
}

static bool check_timeout(int timeout)
{
    if (timeout >= 0 && timeout <= SESSION_TIMEOUT_MAX_S)
        return true;
    cli_options_wrong("exec: --timeout must be a number of seconds, at most %d",
                      SESSION_TIMEOUT_MAX_S);
    return false;
}

int cli_exec(int argc, char **argv)
{
    struct exec_options options = { 0 };
    struct exec_request *request = &options.request;
    const GOptionEntry entries[] = {
        { "interactive", 'i', 0, G_OPTION_ARG_NONE, &options.interactive,
          "pass on standard input", NULL },
        { "tty", 't', 0, G_OPTION_ARG_NONE, &options.terminal,
          "give the command a terminal", NULL },
        { "detach", 'd', 0, G_OPTION_ARG_NONE, &options.detach,
          "run in the background, and print the id", NULL },
        EXEC_REQUEST_ENTRIES(request),
        { "timeout", 0, 0, G_OPTION_ARG_INT, &request->timeout,
          "stop the command after this many seconds", "SECONDS" },
        { "label", 0, 0, G_OPTION_ARG_STRING, &request->label,
          "a name for \"" CLI_PROGRAM " jobs\"", "TEXT" },
        { "no-wait", 0, 0, G_OPTION_ARG_NONE, &options.no_wait,
          "fail if another command with a step runs", NULL },
        { "quiet", 'q', 0, G_OPTION_ARG_NONE, &options.quiet,
          "do not print what the step changed", NULL },
        { "detach-keys", 0, 0, G_OPTION_ARG_STRING, &options.keys,
          "keys that detach from a terminal (default: " DETACH_KEYS ")",
          "KEYS" },
        { NULL },
    };
    struct arguments arguments;
    int exit_code = CLI_USAGE;

    if (parse(entries, argc, argv, &arguments) &&
        parse_keys(&options, DETACH_KEYS) && check_timeout(request->timeout) &&
        check_terminal(&options, "exec")) {
        request->no_wait = options.no_wait;
        exit_code = execute(arguments.name, &options, arguments.words);
    }
    options_clear(&options);
    return exit_code;
}

int cli_shell(int argc, char **argv)
{
    struct exec_options options = { .interactive = TRUE, .terminal = TRUE };
    struct exec_request *request = &options.request;
    const GOptionEntry entries[] = {
        EXEC_REQUEST_ENTRIES(request),
        { "detach-keys", 0, 0, G_OPTION_ARG_STRING, &options.keys,
          "keys that detach (default: none)", "KEYS" },
        { NULL },
    };
    int exit_code = CLI_USAGE;

    if (cli_options_parse("[NAME] - a login shell in a running sandbox",
                          entries, false, &argc, &argv) &&
        parse_keys(&options, NULL) && check_terminal(&options, "shell"))
        exit_code = argc > 2 ? cli_options_wrong(
                                   "shell: '%s' is one argument "
                                   "too many; to run a command: " CLI_PROGRAM
                                   " exec",
                                   argv[2])
                             : execute(argv[1], &options, NULL);
    options_clear(&options);
    return exit_code;
}
