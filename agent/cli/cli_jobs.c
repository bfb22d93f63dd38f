/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_jobs - "stepback jobs", "stepback job" and "stepback attach": the
 * executions of a sandbox.
 */
#include "agent/cli/cli_jobs.h"

#include <glib.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/signals.h"
#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/cli_table.h"
#include "agent/cli/exec_client.h"
#include "agent/cli/exec_keys.h"
#include "agent/client/api_link.h"
#include "agent/session/exec_ring.h"
#include "common/errors.h"
#include "common/json_bytes.h"

/* SIGKILL follows SIGTERM after 2 s, and the machine gives the job up 8 s later
 * (exec.c). */
enum {
    POLL_MS = 200,
    WAIT_MAX_MS = G_MAXINT,
    KILL_WAIT_MS = 15000,
    KILL_PART_MS = 3000, /* then look whether the machine is paused */
};

/* ---- jobs ---------------------------------------------------------------- */

static const char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "-";
}

static void add_job(struct cli_table *table, json_t *job)
{
    g_autofree char *bytes = json_bytes_get_path(
        json_object_get(job, "command"));
    json_t *code = json_object_get(job, "exit_code");
    gint64 id = json_integer_value(json_object_get(job, "exec_id"));

    cli_table_add(
        table, g_strdup_printf("%" G_GINT64_FORMAT, id),
        code ? g_strdup_printf("ended (%d)", (int)json_integer_value(code))
             : g_strdup(text_of(job, "state")),
        cli_table_age(json_string_value(json_object_get(job, "started"))),
        cli_options_printable(text_of(job, "label")),
        cli_options_printable(bytes ? bytes : ""));
    cli_table_paint(table, 0, PAINT_ID);
    cli_table_paint(table, 1,
                    !code                      ? PAINT_GOOD
                    : json_integer_value(code) ? PAINT_BAD
                                               : PAINT_OTHER);
}

static void print_jobs(json_t *list, const struct cli_output *output)
{
    static const struct cli_table_column columns[] = {
        { "ID", TABLE_RIGHT },    { "STATE", TABLE_LEFT },
        { "SINCE", TABLE_LEFT },  { "LABEL", TABLE_END },
        { "COMMAND", TABLE_END }, { NULL },
    };
    g_autoptr(cli_table) table = cli_table_new(output, columns);
    json_t *job;
    size_t i;

    json_array_foreach(list, i, job)
    {
        add_job(table, job);
    }
    cli_table_print(table);
}

int cli_jobs(int argc, char **argv)
{
    gboolean as_json = FALSE;
    g_auto(cli_output_options) options = { 0 };
    struct cli_output output;
    const GOptionEntry entries[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "print JSON", NULL },
        CLI_OUTPUT_COLOR(&options),
        { NULL },
    };
    g_autoptr(GError) error = NULL;
    g_autoptr(sandbox_record) record = NULL;
    json_t *answer, *list;

    if (!cli_options_parse("[NAME] - list the executions of a sandbox", entries,
                           false, &argc, &argv))
        return CLI_USAGE;
    if (argc > 2)
        return cli_options_surplus("jobs", argv[2]);
    if (!cli_output_init(&output, "jobs", &options))
        return CLI_USAGE;
    record = cli_sandbox_find(argv[1], CLI_SANDBOX_RUNNING);
    if (!record)
        return CLI_FAILED;
    answer = cli_sandbox_ask(record, "exec.list", NULL, &error);
    if (!answer)
        return cli_options_failed("%s", error->message);
    list = json_object_get(answer, "executions");
    if (as_json)
        cli_place_print_json(list);
    else
        print_jobs(list, &output);
    json_decref(answer);
    return CLI_OK;
}

/* ---- arguments: [NAME] ID ------------------------------------------------ */

/* Parse "[NAME] ID" from words. On failure print the error, and return NULL and
 * the exit code: failed, or that of a wrong command line. */
static struct sandbox_record *find(const char *verb, char **words,
                                   gint64 *ret_id, int failed, int *ret_status)
{
    unsigned count = g_strv_length(words);
    const char *number = count > 0 ? words[count - 1] : "";
    guint64 id;

    *ret_status = CLI_USAGE;
    if (count < 1 || count > 2 ||
        !g_ascii_string_to_unsigned(number, 10, 1, G_MAXINT64, &id, NULL)) {
        cli_options_wrong("%s: give the id of an execution: " CLI_PROGRAM
                          " %s [NAME] ID; \"" CLI_PROGRAM " jobs\" lists them",
                          verb, verb);
        return NULL;
    }
    *ret_id = (gint64)id;
    *ret_status = failed;
    return cli_sandbox_find(count == 2 ? words[0] : NULL, CLI_SANDBOX_RUNNING);
}

/* ---- attach -------------------------------------------------------------- */

int cli_attach(int argc, char **argv)
{
    g_autofree char *keys = NULL, *sequence = NULL;
    gboolean replace = FALSE, no_stdin = FALSE;
    const GOptionEntry entries[] = {
        { "detach-keys", 0, 0, G_OPTION_ARG_STRING, &keys,
          "keys that detach from a terminal (default: ctrl-p,ctrl-q)", "KEYS" },
        { "replace", 0, 0, G_OPTION_ARG_NONE, &replace,
          "in place of another client that is attached", NULL },
        { "no-stdin", 0, 0, G_OPTION_ARG_NONE, &no_stdin,
          "do not pass on standard input", NULL },
        { NULL },
    };
    g_autoptr(sandbox_record) record = NULL;
    struct exec_client_options options = { .report = true };
    gint64 id;
    int status;

    if (!cli_options_parse("[NAME] ID - attach to an execution", entries, false,
                           &argc, &argv))
        return CLI_USAGE;
    sequence = exec_keys_parse(keys ? keys : "ctrl-p,ctrl-q");
    if (!sequence && keys && *keys)
        return cli_options_wrong("--detach-keys: '%s' is no key sequence",
                                 keys);
    record = find("attach", argv + 1, &id, CLI_RUN_FAILED, &status);
    if (!record)
        return status;
    options.input = !no_stdin;
    options.terminal = options.input && isatty(STDIN_FILENO);
    options.keys = options.terminal ? sequence : NULL;
    return exec_client_run(
        record, "exec.attach",
        json_pack("{s:I, s:b}", "exec_id", (json_int_t)id, "replace", replace),
        &options);
}

/* ---- job ----------------------------------------------------------------- */

static int failed(GError *error)
{
    int code = cli_options_failed("%s", error->message);

    g_error_free(error);
    return code;
}

/* Print at most max bytes. */
static void print_chunks(json_t *output, gint64 max)
{
    json_t *chunk;
    size_t i;

    json_array_foreach(output, i, chunk)
    {
        size_t len = 0;
        g_autofree char *data = json_bytes_get(chunk, "data", &len);
        bool is_stderr = strcmp(text_of(chunk, "stream"), "stderr") == 0;

        len = MIN(len, (size_t)MAX(max, 0));
        if (data)
            fwrite(data, 1, len, is_stderr ? stderr : stdout);
        max -= (gint64)len;
    }
    fflush(stdout);
}

/* Return how many bytes of output an execution has had. */
static gint64 find_end(const struct sandbox_record *record, gint64 id)
{
    json_t *answer = cli_sandbox_ask(record, "exec.list", NULL, NULL);
    gint64 end = 0;
    json_t *job;
    size_t i;

    json_array_foreach(json_object_get(answer, "executions"), i, job)
    {
        if (json_integer_value(json_object_get(job, "exec_id")) == id)
            end = json_integer_value(json_object_get(job, "output_bytes"));
    }
    json_decref(answer);
    return end;
}

/* How far output was read. */
struct reading {
    gint64 begin; /* the offset of the latest part */
    gint64 since; /* the offset to continue from */
    gint64 end;   /* print no more than up to here */
    bool ended;   /* the execution has no more */
};

/* Print the next part of the output. */
static gboolean print_part(const struct sandbox_record *record, gint64 id,
                           struct reading *reading, GError **error)
{
    json_t *answer = cli_sandbox_ask(record, "exec.output",
                                     json_pack("{s:I, s:I}", "exec_id",
                                               (json_int_t)id, "since",
                                               (json_int_t)reading->since),
                                     error);
    gint64 gone = json_integer_value(json_object_get(answer, "gone_bytes"));

    if (!answer)
        return FALSE;
    reading->begin = reading->since + gone;
    if (gone > 0 && reading->begin < reading->end)
        fprintf(stderr,
                CLI_PROGRAM ": %" G_GINT64_FORMAT
                            " bytes of older output are gone\n",
                gone);
    print_chunks(json_object_get(answer, "output"),
                 reading->end - reading->begin);
    reading->since = json_integer_value(json_object_get(answer, "next"));
    reading->ended = json_is_true(json_object_get(answer, "ended"));
    json_decref(answer);
    return TRUE;
}

int cli_jobs_print_output(const struct sandbox_record *record, gint64 id,
                          bool follow)
{
    struct reading reading = { .end = G_MAXINT64 };
    bool more;

    do {
        GError *error = NULL;
        gint64 before = reading.since;

        if (!print_part(record, id, &reading, &error))
            return failed(error);
        if (!follow && !reading.ended && reading.end == G_MAXINT64)
            reading.end = MIN(find_end(record, id),
                              reading.begin + EXEC_RING_BYTES);
        more = reading.since > before;
        if (!more && !reading.ended && follow)
            g_usleep(POLL_MS * 1000);
    } while (!reading.ended &&
             (follow || (more && reading.since < reading.end)));
    return CLI_OK;
}

/* Exit as the execution did. */
static int wait_for(struct sandbox_record *record, gint64 id)
{
    GError *error = NULL;
    json_t *answer = api_link_ask_once(
        sandbox_record_socket(record, "api_socket"), "exec.wait",
        json_pack("{s:I}", "exec_id", (json_int_t)id), WAIT_MAX_MS, &error);
    int code;

    if (!answer)
        return failed(error);
    code = (int)json_integer_value(json_object_get(answer, "exit_code"));
    json_decref(answer);
    return code < 0 ? CLI_RUN_FAILED : code;
}

/* Return the id of a safeguard that pauses the sandbox's machine, which no
 * execution can leave meanwhile: a new string, or NULL. */
static char *find_safeguard(const struct sandbox_record *record)
{
    json_t *answer = cli_sandbox_ask(record, "approval.list", NULL, NULL);
    json_t *approval;
    char *id = NULL;
    size_t i;

    json_array_foreach(json_object_get(answer, "approvals"), i, approval)
    {
        if (!id && strcmp(text_of(approval, "kind"), "safeguard") == 0)
            id = g_strdup(text_of(approval, "id"));
    }
    json_decref(answer);
    return id;
}

static int report_late(const struct sandbox_record *record, gint64 id)
{
    return cli_options_failed("execution %" G_GINT64_FORMAT ": has not ended "
                              "after %d s; '" CLI_PROGRAM
                              " kill %s' ends the sandbox",
                              id, KILL_WAIT_MS / 1000, record->name);
}

/* problem: the execution's error, or that of the supervisor's link. */
static int report_lost(const struct sandbox_record *record, gint64 id,
                       const char *problem)
{
    return cli_options_failed(
        "execution %" G_GINT64_FORMAT
        ": sandbox %s was lost before the execution had ended; start the "
        "sandbox again with '" CLI_PROGRAM " up %s'\nThe cause: %s",
        id, record->name, record->name, problem);
}

/* Return whether an execution with this error was lost with its machine; with
 * others, such as a timeout or a denied step, it has ended. */
static bool is_loss(const char *code)
{
    static const enum error_code codes[] = { ERROR_CONTROL_DISCONNECTED,
                                             ERROR_VM_LAUNCH_FAILED,
                                             ERROR_BACKEND_FAILED };

    for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
        if (strcmp(code, error_code_name(codes[i])) == 0)
            return true;
    }
    return false;
}

/* Judge the answer (taken) to exec.wait, or its error. */
static int judge_end(const struct sandbox_record *record, gint64 id,
                     json_t *answer, const GError *error)
{
    json_t *why = json_object_get(answer, "error");
    int status = CLI_OK;

    if (error && error_code_of(error) != ERROR_NOT_FOUND) /* forgotten */
        status = report_lost(record, id, error->message);
    else if (is_loss(text_of(why, "code")))
        status = report_lost(record, id, text_of(why, "message"));
    json_decref(answer);
    return status;
}

/* Wait for the end of an execution that is being ended. */
static int wait_ended(const struct sandbox_record *record, gint64 id)
{
    for (int ms = 0; ms < KILL_WAIT_MS; ms += KILL_PART_MS) {
        g_autoptr(GError) error = NULL;
        json_t *answer = api_link_ask_once(
            sandbox_record_socket(record, "api_socket"), "exec.wait",
            json_pack("{s:I}", "exec_id", (json_int_t)id), KILL_PART_MS,
            &error);
        g_autofree char *safeguard = NULL;

        if (answer || error_code_of(error) != ERROR_TIMEOUT)
            return judge_end(record, id, answer, error);
        safeguard = find_safeguard(record);
        if (safeguard)
            return cli_options_failed(
                "execution %" G_GINT64_FORMAT ": ends after the decision on "
                "%s, for which the machine of sandbox %s is paused; decide it "
                "with: " CLI_PROGRAM " approve %s %s",
                id, safeguard, record->name, record->name, safeguard);
    }
    return report_late(record, id);
}

/* Without a signal, end the execution; return when it has ended. */
static int send_kill(struct sandbox_record *record, gint64 id,
                     const char *signal_name)
{
    json_t *payload = json_pack("{s:I, s:s*}", "exec_id", (json_int_t)id,
                                "signal", signal_name);
    GError *error = NULL;
    json_t *answer = cli_sandbox_ask(
        record, signal_name ? "exec.signal" : "exec.cancel", payload, &error);

    if (!answer)
        return failed(error);
    json_decref(answer);
    return signal_name ? CLI_OK : wait_ended(record, id);
}

int cli_job(int argc, char **argv)
{
    g_autofree char *signal_name = NULL;
    gboolean follow = FALSE;
    const GOptionEntry entries[] = {
        { "follow", 'f', 0, G_OPTION_ARG_NONE, &follow,
          "logs: go on until the execution ends", NULL },
        { "signal", 's', 0, G_OPTION_ARG_STRING, &signal_name,
          "kill: send this signal, and do not wait (default: TERM, then KILL, "
          "to all of its processes, and wait for their end)",
          "SIGNAL" },
        { NULL },
    };
    g_autoptr(sandbox_record) record = NULL;
    const char *verb;
    gint64 id;
    int status;

    if (!cli_options_parse("logs|wait|kill [NAME] ID - the output, the end, or "
                           "a signal of an execution",
                           entries, false, &argc, &argv))
        return CLI_USAGE;
    verb = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "logs") != 0 && strcmp(verb, "wait") != 0 &&
        strcmp(verb, "kill") != 0)
        return cli_options_wrong("job: give what to do: " CLI_PROGRAM
                                 " job logs|wait|kill [NAME] ID");
    if (signal_name && signals_number(signal_name) == 0)
        return cli_options_wrong("--signal: '%s' is no signal", signal_name);
    record = find("job", argv + 2, &id, CLI_FAILED, &status);
    if (!record)
        return status;
    if (strcmp(verb, "logs") == 0)
        return cli_jobs_print_output(record, id, follow);
    return strcmp(verb, "wait") == 0 ? wait_for(record, id)
                                     : send_kill(record, id, signal_name);
}
