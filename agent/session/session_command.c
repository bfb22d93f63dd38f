/* SPDX-License-Identifier: Apache-2.0
 *
 * session_command - see session.h: the command that runs.
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

/* ---- what exec tells ----------------------------------------------------- */

static bool on_exec_event(const char *type, json_t *payload, bool droppable,
                          void *opaque)
{
    if (strcmp(type, "event.step_completed") != 0)
        return session_send_event(opaque, type, payload, droppable);
    session_tell_step(opaque, payload);
    return true;
}

static void on_exec_done(struct exec *exec, json_t *report, const GError *error,
                         void *opaque)
{
    struct session *session = opaque;
    json_t *data = json_pack("{s:I}", "step_id",
                             (json_int_t)exec_step_id(exec));

    log_info(LOG_SESSION, "the command is over: %s",
             error ? error->message : "done");
    log_set_step(0);
    session->exec = NULL;
    exec_free(exec);
    reply_send(&session->executor, report, error, data);
    json_decref(data);
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
    .event = on_exec_event,
    .done = on_exec_done,
    .stuck = on_exec_stuck,
};

/* ---- what the guest tells ------------------------------------------------ */

static void complain(struct session *session, const char *what)
{
    guest_channel_complain(machine_guest(session->machine),
                           "%s of a command that does not run", what);
}

void session_on_output(gint64 id, const char *stream, const char *data,
                       size_t len, void *opaque)
{
    struct session *session = opaque;

    session->counters.output_bytes += len;
    if (!session->exec ||
        !exec_take_output(session->exec, id, stream, data, len))
        complain(session, "output");
}

void session_on_completed(gint64 id, const struct guest_end *end, void *opaque)
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
                            "a command runs already: wait for its end, or end "
                            "it with agent.cancel");
    else
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY, "%s; wait for its end",
                    session->occupied);
    return FALSE;
}

/* check_free() was asked. */
static void start(struct session *session, struct exec_request *request,
                  reply_done done, void *opaque)
{
    struct step_logs logs;
    GError *error = NULL;

    session_get_logs(session, &logs);
    request->step_id = session->last_step_id + 1;
    session->exec = exec_new(request, &logs, machine_guest(session->machine),
                             &exec_callbacks, session, &error);
    if (!session->exec) {
        reply_post_error(done, opaque, error);
        return;
    }
    session->last_step_id = request->step_id;
    session->counters.steps++;
    log_set_step(request->step_id);
    log_info(LOG_SESSION, "a command begins");
    session->executor = (struct reply){ done, opaque };
}

/* Relative to the first folder. */
static char *guest_cwd(const struct session *session, const char *cwd)
{
    return cwd && g_path_is_absolute(cwd)
               ? g_strdup(cwd)
               : g_build_filename(session->config->directories[0]->guest_path,
                                  cwd, NULL);
}

void session_execute(struct session *session,
                     const struct session_command *command, reply_done done,
                     void *opaque)
{
    struct exec_request request = {
        .command = command->command,
        .env = command->env,
        .timeout_seconds = command->timeout_seconds,
    };
    g_autofree char *cwd = NULL;
    GError *error = NULL;

    if (!check_free(session, &error)) {
        reply_post_error(done, opaque, error);
        return;
    }
    request.cwd = cwd = guest_cwd(session, command->cwd);
    start(session, &request, done, opaque);
}

static gboolean check_agent(struct session *session, GError **error)
{
    if (!check_free(session, error))
        return FALSE;
    if (!session->config->agent_command) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the session has no agent: name one in the field "
                            "'agent_command' of session.start");
        return FALSE;
    }
    if (machine_takes_input(session->machine))
        return TRUE;
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                        "the guest's shim is too old to give a command input; "
                        "build the image again with: stepback image build");
    return FALSE;
}

void session_prompt(struct session *session, const char *prompt,
                    unsigned timeout_seconds, reply_done done, void *opaque)
{
    struct exec_request request = {
        .timeout_seconds = timeout_seconds,
        .input = prompt,
        .output_event = "event.agent_output",
    };
    g_autofree char *cwd = NULL;
    GError *error = NULL;

    if (!check_agent(session, &error)) {
        reply_post_error(done, opaque, error);
        return;
    }
    request.command = session->config->agent_command;
    request.cwd = cwd = guest_cwd(session, NULL);
    start(session, &request, done, opaque);
}

bool session_cancel(struct session *session)
{
    if (!session->exec)
        return false;
    exec_cancel(session->exec, ERROR_CANCELLED);
    session_guard_deny_command(session);
    return true;
}
