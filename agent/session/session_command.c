/* SPDX-License-Identifier: Apache-2.0
 *
 * session_command - see session.h: run a command; and the guest's messages
 * about executions.
 */
#include "agent/session/session_command.h"

#include "agent/session/session.h"
#include "agent/session/session_core.h"
#include "agent/session/session_execution.h"
#include "agent/session/session_guard.h"
#include "common/errors.h"

/* ---- messages of the guest ----------------------------------------------- */

/* Return a running execution, or NULL after a complaint. */
static struct exec *find(struct session *session, gint64 id)
{
    struct execution *execution = execution_find(session, id);

    return execution ? execution->exec : NULL;
}

static void check(struct session *session, bool taken, const char *what)
{
    if (!taken)
        guest_channel_complain(machine_guest(session->machine),
                               "%s for a command that is not running", what);
}

void session_on_output(const struct command_output *output, void *opaque)
{
    struct session *session = opaque;
    struct exec *exec = find(session, output->exec_id);

    session->counters.output_bytes += output->len;
    check(session, exec && exec_take_output(exec, output), "output");
}

void session_on_completed(gint64 id, const struct command_end *end,
                          void *opaque)
{
    struct session *session = opaque;
    struct exec *exec = find(session, id);
    const struct execution *execution = execution_find(session, id);
    struct command_end counted = *end;

    /* In local isolation the shim counts those of the whole host. */
    if (execution && machine_counts_oom_kills(session->machine))
        counted.oom_kills = (int)MIN(machine_oom_kills(session->machine) -
                                         execution->oom_before,
                                     G_MAXINT);
    check(session, exec && exec_take_completed(exec, &counted), "end");
}

void session_on_input_taken(gint64 id, size_t bytes, void *opaque)
{
    struct exec *exec = find(opaque, id);

    check(opaque, exec && exec_take_input_taken(exec, bytes), "input report");
}

void session_on_refused(gint64 id, const char *message, void *opaque)
{
    struct exec *exec = find(opaque, id);

    check(opaque, exec && exec_take_refused(exec, message), "refusal");
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

void session_execute(struct session *session, struct command *command,
                     reply_done done, void *opaque)
{
    struct execution *execution;
    GError *error = NULL;

    if (!check_free(session, &error) ||
        !execution_complete(session, command, &error)) {
        command_free(command);
        reply_post_error(done, opaque, error);
        return;
    }
    execution = execution_add(session, command);
    execution->is_plain = true;
    execution->executor = (struct reply){ done, opaque };
    execution_begin(execution);
}

bool session_cancel(struct session *session)
{
    if (!session->exec)
        return false;
    exec_cancel_step(session->exec);
    session_guard_deny_command(session);
    return true;
}
