/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_client - see exec_client.h.
 */
#include "agent/cli/exec_client.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_summary.h"
#include "agent/cli/exec_approvals.h"
#include "agent/cli/exec_end.h"
#include "agent/cli/exec_output.h"
#include "agent/cli/exec_request.h"
#include "agent/cli/exec_stdin.h"
#include "agent/cli/exec_turn.h"
#include "agent/cli/exec_warnings.h"
#include "agent/cli/term_guard.h"
#include "agent/client/api_link.h"
#include "common/json_bytes.h"

enum { START_MS = 60 * 1000 };

struct exec_client {
    const struct exec_client_options *options; /* borrowed */
    struct control_link *link;
    gint64 id;     /* 0: not started */
    json_t *early; /* events that came before the answer to exec.start */
    GMainLoop *loop;
    struct exec_output *output;
    struct exec_stdin *input;
    struct exec_approvals *approvals;
    struct exec_turn *turn; /* from the start on */
    guint signals[4];
    bool has_output, detached, over;
    bool is_broken; /* the reader of the output has ended */
    struct exec_warnings *warnings;
    json_t *end;     /* the payload of event.exec_exited, or NULL */
    char *complaint; /* an error to print once the terminal is restored */
    int interrupts, terminations;
    int exit_code;
    unsigned rows, columns; /* the size that was sent; 0: none yet */
};

static void quit(struct exec_client *client, int exit_code)
{
    client->exit_code = exit_code;
    client->over = true;
    exec_stdin_stop(client->input);
    g_main_loop_quit(client->loop);
}

static void request(struct exec_client *client, const char *type,
                    json_t *payload)
{
    json_object_set_new(payload, "exec_id", json_integer(client->id));
    control_link_request(client->link, type, payload, NULL, NULL);
}

static void pass_signal(struct exec_client *client, int number)
{
    if (client->id)
        request(client, "exec.signal", json_pack("{s:i}", "signal", number));
}

/* Also called for SIGWINCH. */
static gboolean send_size(gpointer data)
{
    struct exec_client *client = data;
    unsigned rows, columns;

    if (client->id && client->options->terminal &&
        term_guard_size(STDIN_FILENO, &rows, &columns) &&
        (rows != client->rows || columns != client->columns)) {
        client->rows = rows;
        client->columns = columns;
        request(client, "exec.resize",
                json_pack("{s:i, s:i}", "rows", (int)rows, "columns",
                          (int)columns));
    }
    return G_SOURCE_CONTINUE;
}

/* ---- input --------------------------------------------------------------- */

static void on_interrupt_key(void *opaque)
{
    struct exec_client *client = opaque;

    if (!client->has_output)
        exec_turn_interrupt(client->turn);
}

static void on_input_taken(json_t *payload, const GError *error, json_t *data,
                           void *opaque)
{
    struct exec_client *client = opaque;

    exec_stdin_taken(client->input, error != NULL);
}

static void send_input(const char *data, size_t len, bool eof, void *opaque)
{
    struct exec_client *client = opaque;
    json_t *payload = json_pack("{s:I}", "exec_id", (json_int_t)client->id);

    send_size(client); /* SIGWINCH may come after what is typed then */
    if (len > 0)
        json_bytes_set(payload, "data", data, len);
    if (eof)
        json_object_set_new(payload, "eof", json_true());
    control_link_request(client->link, "exec.input", payload, on_input_taken,
                         client);
}

static void detach(void *opaque)
{
    struct exec_client *client = opaque;

    exec_output_finish(client->output);
    client->detached = true;
    request(client, "exec.detach", json_object());
    quit(client, CLI_OK);
}

/* The supervisor hangs up the execution, unless that was started detached. */
static void hang_up(void *opaque)
{
    quit(opaque, 128 + SIGHUP);
}

/* ---- approvals ------------------------------------------------------------
 */

static void on_decided(json_t *payload, const GError *error, json_t *data,
                       void *opaque)
{
    struct exec_client *client = opaque;

    if (error && !client->over)
        exec_approvals_refused(client->approvals, error->message);
}

static void decide(const char *id, bool allow, void *opaque)
{
    struct exec_client *client = opaque;

    control_link_request(
        client->link, "approval.decide",
        json_pack("{s:s, s:s}", "id", id, "decision", allow ? "allow" : "deny"),
        on_decided, client);
}

/* A program redraws after a change of the size. */
static void pause_output(bool pause, void *opaque)
{
    struct exec_client *client = opaque;

    exec_output_pause(client->output, pause);
    if (pause || client->rows < 2)
        return;
    request(client, "exec.resize",
            json_pack("{s:i, s:i}", "rows", (int)client->rows - 1, "columns",
                      (int)client->columns));
    client->rows = 0;
    send_size(client);
}

static const struct exec_approvals_callbacks approvals_callbacks = {
    .decide = decide,
    .pause = pause_output,
};

static size_t take_keys(const char *data, size_t len, void *opaque)
{
    struct exec_client *client = opaque;

    return exec_approvals_type(client->approvals, data, len);
}

static const struct exec_stdin_callbacks input_callbacks = {
    .take = take_keys,
    .send = send_input,
    .detach = detach,
    .hung_up = hang_up,
    .interrupted = on_interrupt_key,
};

static void on_approvals(json_t *payload, const GError *error, json_t *data,
                         void *opaque)
{
    struct exec_client *client = opaque;

    if (!error && !client->over)
        exec_approvals_take_list(client->approvals, payload);
}

/* ---- events -------------------------------------------------------------- */

static void take_output(struct exec_client *client, json_t *payload)
{
    bool is_stderr = g_strcmp0(
                         json_string_value(json_object_get(payload, "stream")),
                         "stderr") == 0;
    size_t len = 0;
    char *data = json_bytes_get(payload, "data", &len);

    client->has_output = true;
    if (data)
        exec_output_add(client->output, is_stderr, data, len);
}

static void take_event(struct exec_client *client, const char *type,
                       json_t *payload)
{
    g_autofree char *complaint = NULL;
    int exit_code;

    if (json_integer_value(json_object_get(payload, "exec_id")) != client->id)
        return;
    if (strcmp(type, "event.exec_output") == 0) {
        take_output(client, payload);
    } else if (strcmp(type, "event.exec_exited") == 0) {
        client->end = json_incref(payload);
        exec_output_finish(client->output);
        exit_code = exec_end_exit_code(payload, &complaint);
        if (!client->is_broken)
            client->complaint = g_steal_pointer(&complaint);
        quit(client, client->is_broken ? 128 + SIGPIPE : exit_code);
    } else if (strcmp(type, "event.exec_detached") == 0) {
        exec_output_finish(client->output);
        client->complaint = g_strdup(
            "another client has attached to the execution");
        quit(client, CLI_RUN_FAILED);
    }
}

static void on_event(struct control_link *link, const char *type,
                     json_t *payload, void *opaque)
{
    struct exec_client *client = opaque;

    if (strcmp(type, "event.warning") == 0)
        exec_warnings_take(client->warnings, payload);
    else if (exec_approvals_take(client->approvals, type, payload))
        return;
    else if (strcmp(type, "event.step_started") == 0) /* of no other client */
        exec_warnings_add_step(client->warnings, payload);
    else if (client->id)
        take_event(client, type, payload);
    else if (g_str_has_prefix(type, "event.exec_"))
        json_array_append_new(client->early,
                              json_pack("[s, O]", type, payload));
}

static void on_closed(struct control_link *link, void *opaque)
{
    struct exec_client *client = opaque;

    if (client->over || !client->id) /* begin() reports it */
        return;
    exec_output_finish(client->output);
    client->complaint = g_strdup("the sandbox has ended");
    quit(client, CLI_RUN_FAILED);
}

static const struct control_link_callbacks callbacks = {
    .event = on_event,
    .closed = on_closed,
};

/* ---- signals ------------------------------------------------------------- */

/* The second one does not rely on the command, the third one on nothing. */
static void pass_interrupt(struct exec_client *client, int count)
{
    if (client->options->cancels)
        count++;
    if (count == 1)
        pass_signal(client, SIGINT);
    else if (count == 2 && client->id)
        request(client, "exec.cancel", json_object());
    else if (count > 2)
        quit(client, 128 + SIGINT);
}

static gboolean on_interrupt(gpointer data)
{
    struct exec_client *client = data;

    pass_interrupt(client, ++client->interrupts);
    return G_SOURCE_CONTINUE;
}

static gboolean on_terminate(gpointer data)
{
    struct exec_client *client = data;

    if (client->options->cancels)
        return on_interrupt(data);
    if (client->terminations++ > 0)
        quit(client, 128 + SIGTERM); /* as after a hang-up */
    else
        pass_signal(client, SIGTERM);
    return G_SOURCE_CONTINUE;
}

static gboolean on_hangup(gpointer data)
{
    hang_up(data);
    return G_SOURCE_CONTINUE;
}

static void on_output_full(bool full, void *opaque)
{
    struct exec_client *client = opaque;

    if (full && client->approvals)
        exec_approvals_mute(client->approvals);
    if (client->link)
        control_link_hold(client->link, full);
}

/* The reader has ended ("| head"): a local command would get SIGPIPE. */
static void on_output_broken(bool hung_up, void *opaque)
{
    struct exec_client *client = opaque;

    if (hung_up) {
        hang_up(client);
        return;
    }
    if (client->options->cancels && client->id) {
        client->is_broken = true;
        request(client, "exec.cancel", json_object());
        return;
    }
    pass_signal(client, SIGPIPE);
    quit(client, 128 + SIGPIPE);
}

static const struct exec_output_callbacks output_callbacks = {
    .full = on_output_full,
    .broken = on_output_broken,
};

/* ---- life ---------------------------------------------------------------- */

static void take_early(struct exec_client *client)
{
    json_t *event;
    size_t i;

    json_array_foreach(client->early, i, event)
    {
        if (!client->over)
            take_event(client, json_string_value(json_array_get(event, 0)),
                       json_array_get(event, 1));
    }
    json_array_clear(client->early);
}

/* Start or attach. Return false after an error was printed. */
static bool begin(struct exec_client *client, const char *type, json_t *payload)
{
    g_autoptr(GError) error = NULL;
    gint64 id = json_integer_value(json_object_get(payload, "exec_id"));
    json_t *answer = NULL;

    if (!exec_request_subscribe(
            client->link, client->options->warnings || client->options->network,
            client->options->terminal, &error))
        json_decref(payload);
    else
        answer = api_link_ask(client->link, type, payload, START_MS, &error);
    if (!answer) {
        cli_options_failed("%s", error->message);
        return false;
    }
    client->id = id ? id
                    : json_integer_value(json_object_get(answer, "exec_id"));
    json_decref(answer);
    client->turn = exec_turn_new(client->link, client->id,
                                 client->options->terminal);
    return true;
}

static void serve(struct exec_client *client)
{
    take_early(client); /* with the terminal in raw mode */
    send_size(client);
    for (int i = 0; i < client->interrupts && i < 2; i++)
        pass_interrupt(client, i + 1);
    if (!client->over && client->options->input)
        exec_stdin_begin(client->input);
    if (!client->over && client->options->terminal)
        control_link_request(client->link, "approval.list", json_object(),
                             on_approvals, client);
    if (!client->over)
        exec_turn_watch(client->turn);
    if (!client->over)
        g_main_loop_run(client->loop);
    exec_stdin_stop(client->input);
    exec_turn_stop(client->turn);
}

static struct exec_client *client_new(const struct exec_client_options *options,
                                      const char *sandbox)
{
    struct exec_client *client = g_new0(struct exec_client, 1);

    client->options = options;
    client->exit_code = CLI_RUN_FAILED;
    client->early = json_array();
    client->warnings = exec_warnings_new(options->warnings, options->terminal);
    client->loop = g_main_loop_new(NULL, FALSE);
    client->output = exec_output_new(&output_callbacks, client);
    client->input = exec_stdin_new(options->terminal, options->keys,
                                   &input_callbacks, client);
    client->approvals = exec_approvals_new(sandbox, options->terminal,
                                           &approvals_callbacks, client);
    client->signals[0] = g_unix_signal_add(SIGINT, on_interrupt, client);
    client->signals[1] = g_unix_signal_add(SIGTERM, on_terminate, client);
    client->signals[2] = g_unix_signal_add(SIGHUP, on_hangup, client);
    client->signals[3] = g_unix_signal_add(SIGWINCH, send_size, client);
    return client;
}

static void client_free(struct exec_client *client)
{
    for (size_t i = 0; i < G_N_ELEMENTS(client->signals); i++)
        g_source_remove(client->signals[i]);
    control_link_free(client->link);
    exec_turn_free(client->turn);
    json_decref(client->early);
    exec_warnings_free(client->warnings);
    json_decref(client->end);
    g_free(client->complaint);
    exec_approvals_free(client->approvals);
    exec_output_free(client->output);
    exec_stdin_free(client->input);
    g_main_loop_unref(client->loop);
    g_free(client);
}

/* Print the messages that waited until the terminal was restored. */
static void report_end(const struct exec_client *client,
                       const struct sandbox_record *record)
{
    exec_warnings_print(client->warnings);
    if (client->complaint)
        cli_options_failed("%s", client->complaint);
    if (client->options->report)
        exec_end_print_step(record, client->end, client->options->is_shell,
                            client->options->undo_hint);
    cli_summary_tell_oom(
        (int)json_integer_value(json_object_get(client->end, "oom_kills")));
    if (client->detached)
        fprintf(stderr,
                CLI_PROGRAM ": detached; attach again with: " CLI_PROGRAM
                            " attach %s %" G_GINT64_FORMAT "\n",
                record->name, client->id);
}

int exec_client_run(const struct sandbox_record *record, const char *type,
                    json_t *payload, const struct exec_client_options *options)
{
    struct exec_client *client = client_new(options, record->name);
    struct term_guard *guard = NULL;
    g_autoptr(GError) error = NULL;
    int exit_code;

    client->link = api_link_connect(sandbox_record_socket(record, "api_socket"),
                                    &callbacks, client, &error);
    if (!client->link) {
        cli_options_failed("%s", error->message);
        json_decref(payload);
    } else if (begin(client, type, payload)) {
        if (options->terminal)
            guard = term_guard_begin(STDIN_FILENO);
        serve(client);
    }
    exit_code = client->exit_code;
    term_guard_end(guard, client->end != NULL);
    report_end(client, record);
    client_free(client);
    return exit_code;
}
