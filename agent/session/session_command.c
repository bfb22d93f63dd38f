/* SPDX-License-Identifier: Apache-2.0
 *
 * session_command - see session.h: run commands.
 */
#include "agent/session/session_command.h"

#include <string.h>

#include "agent/session/exec.h"
#include "agent/session/session.h"
#include "agent/session/session_core.h"
#include "agent/session/session_folder.h"
#include "agent/session/session_guard.h"
#include "common/errors.h"
#include "common/log.h"

/* ---- messages of exec ---------------------------------------------------- */

static bool on_exec_output(const struct command *command,
                           const struct command_output *output, void *opaque)
{
    const struct session_event event = {
        .type = SESSION_EVENT_OUTPUT,
        .droppable = true,
        .command = command,
        .output = output,
    };

    return session_send(opaque, &event);
}

static void on_exec_started(const struct exec *exec,
                            const struct command *command, void *opaque)
{
    const struct session_event event = {
        .type = SESSION_EVENT_STEP_STARTED,
        .step_id = exec_step_id(exec),
        .command = command,
    };

    session_send(opaque, &event);
}

static void on_exec_completed(struct step_report *report, void *opaque)
{
    session_tell_step(opaque, report);
}

static void on_exec_done(struct exec *exec, struct step_report *report,
                         const GError *error, void *opaque)
{
    struct session *session = opaque;
    const struct answer answer = { .report = report,
                                   .step_id = exec_step_id(exec) };

    log_info(LOG_SESSION, "the command is over: %s",
             error ? error->message : "done");
    log_set_step(0);
    session->exec = NULL;
    exec_free(exec);
    reply_send(&session->executor, &answer, error);
    session_command_over(session);
}

static void on_exec_stuck(struct exec *exec, void *opaque)
{
    g_autoptr(GError)
        error = g_error_new_literal(STEPBACK_ERROR, ERROR_CONTROL_DISCONNECTED,
                                    "the guest does not end the command");

    session_lose_machine(opaque, error);
}

static const struct exec_callbacks exec_callbacks = {
    .started = on_exec_started,
    .output = on_exec_output,
    .completed = on_exec_completed,
    .done = on_exec_done,
    .stuck = on_exec_stuck,
};

/* ---- messages of the guest ----------------------------------------------- */

static void complain(struct session *session, const char *what)
{
    guest_channel_complain(machine_guest(session->machine),
                           "%s for a command that is not running", what);
}

void session_on_output(const struct command_output *output, void *opaque)
{
    struct session *session = opaque;

    session->counters.output_bytes += output->len;
    if (!session->exec || !exec_take_output(session->exec, output))
        complain(session, "output");
}

void session_on_completed(gint64 id, const struct command_end *end,
                          void *opaque)
{
    struct session *session = opaque;

    if (!session->exec || !exec_take_completed(session->exec, id, end))
        complain(session, "end");
}

void session_on_refused(gint64 id, const char *message, void *opaque)
{
    struct session *session = opaque;

    if (!session->exec || !exec_take_refused(session->exec, id, message))
        complain(session, "refusal");
}

/* ---- operations ---------------------------------------------------------- */

static gboolean check_free(struct session *session, GError **error)
{
    if (!session_check_running(session, error))
        return FALSE;
    if (!session->exec && !session->occupied)
        return TRUE;
    if (session->exec)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_BUSY,
                            "a command is already running; wait until it ends, "
                            "or cancel it with agent.cancel");
    else
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "%s; wait until that ends", session->occupied);
    return FALSE;
}

/* Complete the command: the agent command of a prompt, and the guest path of
 * the working directory. */
static gboolean complete(const struct session *session, struct command *command,
                         GError **error)
{
    const struct session_config *config = session->config;
    g_autofree char *cwd = g_steal_pointer(&command->cwd);

    if (command->is_prompt && !config->agent_command) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the session has no agent; set the field "
                            "'agent_command' of session.start");
        return FALSE;
    }
    if (command->is_prompt)
        command->text = g_strdup(config->agent_command);
    command->cwd = cwd && g_path_is_absolute(cwd)
                       ? g_strdup(cwd)
                       : g_build_filename(config->directories[0]->guest_path,
                                          cwd, NULL);
    return guest_channel_check_command(machine_guest(session->machine), command,
                                       error);
}

static void start(struct session *session, struct command *command)
{
    struct step_logs logs;

    session_get_logs(session, &logs);
    session->last_step_id++;
    session->counters.steps++;
    log_set_step(session->last_step_id);
    log_info(LOG_SESSION, "a command is starting");
    session->exec = exec_new(session->last_step_id, command, &logs,
                             machine_guest(session->machine), &exec_callbacks,
                             session);
}

void session_execute(struct session *session, struct command *command,
                     reply_done done, void *opaque)
{
    GError *error = NULL;

    if (!check_free(session, &error) || !complete(session, command, &error)) {
        command_free(command);
        reply_post_error(done, opaque, error);
        return;
    }
    session->executor = (struct reply){ done, opaque };
    start(session, command);
}

bool session_cancel(struct session *session)
{
    if (!session->exec)
        return false;
    exec_cancel(session->exec, ERROR_CANCELLED);
    session_guard_deny_command(session);
    return true;
}
