/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_join - see cli_join.h.
 *
 * The command is an agent.execute request on the sandbox's API socket. Ctrl-C
 * cancels it once its step has begun; before that, the running command may be
 * another client's. A second Ctrl-C leaves it, and never ends the machine.
 */
#include "agent/cli/cli_join.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_hints.h"
#include "agent/cli/cli_interrupts.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_place.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/cli_summary.h"
#include "agent/client/api_link.h"
#include "agent/client/report_json.h"
#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/real_path.h"

enum {
    EXIT_INTERRUPTED = 128 + SIGINT,
    ASK_MS = 10000,
    WAIT_MS = 100,
    START_MAX_MS = 600 * 1000,
};

/* ---- the sandbox --------------------------------------------------------- */

/* Wait until a sandbox that starts is running; NULL: it has ended. */
static struct sandbox_record *wait_running(struct sandbox_record *record)
{
    g_autofree char *name = g_strdup(record->name);

    for (int ms = 0;
         record && record->status == SANDBOX_STARTING && ms < START_MAX_MS;
         ms += WAIT_MS) {
        g_usleep(WAIT_MS * 1000);
        sandbox_record_free(record);
        record = sandbox_record_load(name, NULL);
    }
    if (record && record->status == SANDBOX_RUNNING)
        return record;
    sandbox_record_free(record);
    return NULL;
}

bool cli_join_find(const char *dir, bool exact,
                   struct sandbox_record **ret_record)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray)
        found = cli_sandbox_of_folder(dir, true, exact, &error);
    g_autofree char *names = NULL;

    if (!found) {
        cli_options_failed("%s", error->message);
        return false;
    }
    if (found->len == 1)
        *ret_record = wait_running(g_ptr_array_steal_index(found, 0));
    if (found->len <= 1)
        return true;
    names = cli_sandbox_names(found);
    cli_options_failed("sandboxes %s run over this folder; use --new for a "
                       "machine of its own, or stop all but one",
                       names);
    return false;
}

bool cli_join_check(const struct sandbox_record *record,
                    const struct cli_machine *machine, const char *other)
{
    const char *option = cli_machine_conflict(
        machine, json_object_get(record->config, "session"));

    if (!option)
        option = other;
    if (!option)
        return true;
    cli_options_failed("sandbox %s runs over this folder without this %s; "
                       "leave the option out, stop the sandbox, or add --new "
                       "with another folder",
                       record->name, option);
    return false;
}

/* ---- output -------------------------------------------------------------- */

struct joined {
    const struct cli_join *join; /* borrowed */
    const struct cli_machine *machine;
    struct control_link *link;
    gint64 step_id; /* 0: not begun */
    bool cancelling, output_broken, over;
    int seen_interrupts;
    int exit_code;
};

static void cancel(struct joined *joined)
{
    if (joined->step_id != 0 && !joined->cancelling) {
        joined->cancelling = true;
        control_link_request(joined->link, "agent.cancel", NULL, NULL, NULL);
    }
}

static void take_output(struct joined *joined, json_t *payload)
{
    bool is_stderr = g_strcmp0(
                         json_string_value(json_object_get(payload, "stream")),
                         "stderr") == 0;
    size_t len = 0;
    g_autofree char *data = json_bytes_get(payload, "data", &len);

    if (!data || joined->output_broken ||
        cli_interrupts_write(joined->seen_interrupts,
                             is_stderr ? STDERR_FILENO : STDOUT_FILENO, data,
                             len))
        return;
    /* The reader has ended ("| head"): a local command would get SIGPIPE. */
    joined->output_broken = true;
    cancel(joined);
}

static void print_step(const struct joined *joined, json_t *payload)
{
    struct step_report *report = report_from_json(payload, NULL);
    g_autofree char *line = cli_summary_step(report, joined->join->undo_hint);

    fprintf(stderr, CLI_PROGRAM ": %s\n", line);
    step_report_unref(report);
}

static void on_event(struct control_link *link, const char *type,
                     json_t *payload, void *opaque)
{
    struct joined *joined = opaque;
    const char *text = json_string_value(json_object_get(payload, "message"));

    if (strcmp(type, "event.step_started") == 0) {
        joined->step_id = json_integer_value(
            json_object_get(payload, "step_id"));
        if (joined->seen_interrupts > 0)
            cancel(joined);
    } else if (strcmp(type, "event.terminal_output") == 0) {
        take_output(joined, payload);
    } else if (strcmp(type, "event.step_completed") == 0) {
        print_step(joined, payload);
    } else if (strcmp(type, "event.warning") == 0 && text) {
        cli_place_warn(text);
    }
}

static const struct control_link_callbacks callbacks = { .event = on_event };

/* ---- the command --------------------------------------------------------- */

static void on_interrupt(void *opaque)
{
    struct joined *joined = opaque;

    if (joined->seen_interrupts > 0 || cli_interrupts_count() > 1) {
        joined->exit_code = EXIT_INTERRUPTED;
        joined->over = true;
    }
    joined->seen_interrupts = cli_interrupts_count();
    cancel(joined);
}

static void on_executed(json_t *report, const GError *error, json_t *data,
                        void *opaque)
{
    struct joined *joined = opaque;

    if (joined->over)
        return; /* interrupted, and not waited for */
    joined->over = true;
    if (!error)
        joined->exit_code = (int)json_integer_value(
            json_object_get(report, "exit_code"));
    else if (error_code_of(error) == ERROR_TIMEOUT)
        joined->exit_code = CLI_TIMED_OUT;
    else if (error_code_of(error) == ERROR_CANCELLED)
        joined->exit_code = EXIT_INTERRUPTED;
    else
        joined->exit_code = CLI_RUN_FAILED;
    if (joined->output_broken)
        joined->exit_code = 128 + SIGPIPE;
    else if (error && joined->exit_code != EXIT_INTERRUPTED)
        cli_options_failed("%s", error->message);
    if (!error)
        cli_hints_tell_not_found(joined->machine, joined->exit_code);
}

/* Translate a path of the host into the guest's: a new string, or NULL if no
 * folder contains it. info: the answer to sandbox.info. */
static char *guest_path_of(json_t *info, const char *path)
{
    json_t *session = json_object_get(info, "session"), *entry;
    size_t i;

    json_array_foreach(json_object_get(session, "working_directories"), i,
                       entry)
    {
        const char *folder = json_string_value(json_object_get(entry, "path"));
        const char *guest = json_string_value(
            json_object_get(entry, "guest_path"));

        if (folder && guest && real_path_is_beneath(path, folder))
            return g_strconcat(guest, path + strlen(folder), NULL);
    }
    return NULL;
}

static json_t *command_value(const char *command)
{
    json_t *object;

    if (json_bytes_is_text(command, strlen(command)))
        return json_string(command);
    object = json_object();
    json_bytes_set(object, "command", command, strlen(command));
    return object;
}

/* Return the payload of agent.execute: a new object. */
static json_t *build_request(const struct cli_join *join, json_t *info)
{
    g_autofree char *here = real_path_of(join->dir);
    g_autofree char *cwd = guest_path_of(info, here);
    json_t *payload = json_pack("{s:o}", "command",
                                command_value(join->command));

    if (cwd)
        json_object_set_new(payload, "cwd", json_bytes_path(cwd));
    if (join->timeout_seconds > 0)
        json_object_set_new(payload, "timeout_seconds",
                            json_integer(join->timeout_seconds));
    return payload;
}

static gboolean run(struct joined *joined, GError **error)
{
    json_t *info = api_link_ask(joined->link, "sandbox.info", NULL, ASK_MS,
                                error);
    json_t *done = info ? api_link_ask(
                              joined->link, "events.subscribe",
                              json_pack("{s:[s]}", "types", "event.warning"),
                              ASK_MS, error)
                        : NULL;

    if (done) {
        control_link_request(joined->link, "agent.execute",
                             build_request(joined->join, info), on_executed,
                             joined);
        while (!joined->over)
            g_main_context_iteration(NULL, TRUE);
    }
    json_decref(info);
    json_decref(done);
    return done != NULL;
}

int cli_join_run(const struct sandbox_record *record,
                 const struct cli_machine *machine, const struct cli_join *join)
{
    const char *path = sandbox_record_socket(record, "api_socket");
    struct joined joined = { .join = join, .machine = machine };
    g_autoptr(GError) error = NULL;

    if (!path)
        g_set_error(&error, STEPBACK_ERROR, ERROR_NO_SESSION,
                    "sandbox %s: has just ended; try again", record->name);
    else
        joined.link = api_link_connect(path, &callbacks, &joined, &error);
    if (joined.link && !cli_interrupts_catch(on_interrupt, &joined))
        g_set_error(&error, STEPBACK_ERROR, ERROR_INTERNAL,
                    "cannot make an eventfd: %s", g_strerror(errno));
    if (isatty(STDERR_FILENO))
        fprintf(stderr, CLI_PROGRAM ": using sandbox %s\n", record->name);
    cli_hints_watch_input();
    if (error || !run(&joined, &error)) {
        cli_options_failed("%s", error->message);
        joined.exit_code = CLI_RUN_FAILED;
    }
    control_link_close(joined.link);
    control_link_free(joined.link);
    return joined.exit_code;
}
