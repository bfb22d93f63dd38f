/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_join - see cli_join.h.
 */
#include "agent/cli/cli_join.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_hints.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_sandbox.h"
#include "agent/cli/exec_client.h"
#include "agent/cli/exec_request.h"
#include "common/errors.h"
#include "common/json_bytes.h"
#include "common/real_path.h"

enum { WAIT_MS = 100, START_MAX_MS = 600 * 1000 };

/* ---- the sandbox --------------------------------------------------------- */

static bool is_changing(const struct sandbox_record *record)
{
    return record->status == SANDBOX_STARTING ||
           record->status == SANDBOX_STOPPING;
}

/* Wait until a sandbox that starts is running; NULL: it has ended. */
static struct sandbox_record *wait_running(struct sandbox_record *record)
{
    g_autofree char *name = g_strdup(record->name);

    for (int ms = 0; record && is_changing(record) && ms < START_MAX_MS;
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

    /* In a folder that a guest could write to, there are no sandboxes. */
    if (!found && error_code_of(error) == ERROR_INVALID_DIRECTORY)
        return true;
    if (!found) {
        cli_options_failed("%s", error->message);
        return false;
    }
    if (found->len == 1)
        *ret_record = wait_running(g_ptr_array_steal_index(found, 0));
    if (found->len <= 1)
        return true;
    names = cli_sandbox_names(found);
    cli_options_failed("sandboxes %s run over this folder or one above it; "
                       "choose one by its folder with -C, or stop all but one",
                       names);
    return false;
}

bool cli_join_check(const struct sandbox_record *record,
                    const struct cli_machine *machine, bool executions,
                    const char *other)
{
    json_t *session = json_object_get(record->config, "session");
    const char *option = cli_machine_conflict(machine, session);

    if (!option)
        option = cli_guest_conflict(&machine->guest, session, executions);

    if (!option)
        option = other;
    if (!option)
        return true;
    cli_options_failed("sandbox %s runs over this folder without this %s; "
                       "leave the option out, stop the sandbox with "
                       "'" CLI_PROGRAM " stop %s', or use another folder (-C)",
                       record->name, option, record->name);
    return false;
}

/* ---- the command --------------------------------------------------------- */

static json_t *command_value(const char *command)
{
    json_t *object;

    if (json_bytes_is_text(command, strlen(command)))
        return json_string(command);
    object = json_object();
    json_bytes_set(object, "command", command, strlen(command));
    return object;
}

/* Return the payload of exec.start: a new object. NULL: an error was printed.
 */
static json_t *build_request(const struct cli_join *join,
                             const struct cli_guest *guest, json_t *info)
{
    json_t *payload = json_pack("{s:o}", "command",
                                command_value(join->command));

    if (!exec_request_add_guest(payload, guest, info)) {
        json_decref(payload);
        return NULL;
    }
    if (!guest->workdir)
        exec_request_add_here(payload, join->dir, info);
    if (join->timeout_seconds > 0)
        json_object_set_new(payload, "timeout_seconds",
                            json_integer(join->timeout_seconds));
    return payload;
}

int cli_join_run(const struct sandbox_record *record,
                 const struct cli_machine *machine, const struct cli_join *join)
{
    const struct exec_client_options options = {
        .report = true,
        .undo_hint = join->undo_hint,
        .warnings = true,
        .cancels = true,
    };
    g_autoptr(GError) error = NULL;
    json_t *info = cli_sandbox_ask(record, "sandbox.info", NULL, &error);
    json_t *payload;
    int exit_code;

    if (!info) {
        cli_options_failed("%s", error->message);
        return CLI_RUN_FAILED;
    }
    if (isatty(STDERR_FILENO))
        fprintf(stderr, CLI_PROGRAM ": using sandbox %s\n", record->name);
    cli_hints_watch_input();
    payload = build_request(join, &machine->guest, info);
    exit_code = payload
                    ? exec_client_run(record, "exec.start", payload, &options)
                    : CLI_RUN_FAILED;
    cli_hints_tell_not_found_in(record, NULL, exit_code);
    json_decref(info);
    return exit_code;
}
