/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_session - see mcp_session.h.
 *
 * How to recognise our command among the session's: no other command can run
 * while ours does, and a command refused because another one runs is answered
 * without an event. So the first event.step_started after our command was
 * accepted belongs to ours.
 */
#include "agent/mcp/mcp_session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/mcp/mcp_elicit.h"
#include "agent/mcp/mcp_guest.h"
#include "agent/mcp/mcp_session_core.h"
#include "agent/mcp/mcp_session_ops.h"
#include "agent/machine/session_config.h"
#include "agent/session/session_grants.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"

/* How long a frontend may decide on a safeguard before an MCP client's answer
 * counts. */
enum { GRACE_MS = 10000 };

/* ---- commands ------------------------------------------------------------ */

static void on_executed(const struct answer *answer, const GError *error,
                        void *opaque)
{
    struct operation *operation = opaque;
    struct mcp_session *host = operation->host;
    struct step_report *last = g_steal_pointer(&host->report);
    struct answer own = answer ? *answer : (struct answer){ 0 };

    host->executing = false;
    host->output = NULL;
    if (error && last)
        own.report = last;
    mcp_operation_answer(&own, error, operation);
    if (last)
        step_report_unref(last);
}

static void run_execute(struct operation *operation)
{
    struct mcp_session *host = operation->host;
    struct session_status status;

    session_get_status(host->session, &status);
    /* Otherwise the command is about to be refused, and a cancel must not hit
     * another party's command. */
    host->executing = status.running_step == 0;
    host->step_id = 0;
    session_execute(host->session, g_steal_pointer(&operation->command),
                    on_executed, operation);
}

static void host_execute(void *opaque, struct command *command,
                         mcp_host_output output, reply_done done,
                         void *done_opaque)
{
    struct mcp_session *host = opaque;
    struct operation *operation = mcp_operation_new(
        host, run_execute, FOLDER_NONE, done, done_opaque);

    operation->command = command;
    host->output = output;
    host->output_opaque = done_opaque;
    mcp_session_carry_out(operation);
}

static void host_cancel(void *opaque)
{
    struct mcp_session *host = opaque;
    struct operation *operation = g_steal_pointer(&host->waiting);
    g_autoptr(GError) error = NULL;

    if (host->executing)
        session_cancel(host->session);
    if (!operation)
        return;
    error = g_error_new_literal(STEPBACK_ERROR, ERROR_CANCELLED,
                                "the command was cancelled");
    mcp_operation_answer(NULL, error, operation);
}

/* ---- the folder ---------------------------------------------------------- */

/* While our session does not run, open the folder that its next start would
 * use: the path may lead to another folder by now. */
static int open_folder(struct mcp_session *host, GError **error)
{
    struct session_config *config = host->make(host->make_opaque, error);
    const char *path = config ? config->directories[0]->path : NULL;

    fd_close(&host->folder_fd);
    if (path)
        host->folder_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (path && host->folder_fd < 0)
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "the working folder %s: %s", path, g_strerror(errno));
    session_config_free(config);
    return host->folder_fd;
}

/* While it runs, return the folder that the guest has mounted. */
static int host_folder_fd(void *opaque, struct folder_ref directory,
                          GError **error)
{
    struct mcp_session *host = opaque;

    return host->make && mcp_session_state(host) != SESSION_RUNNING &&
                   !directory.given
               ? open_folder(host, error)
               : session_folder_fd(host->session, directory, error);
}

/* ---- other host operations ----------------------------------------------- */

static void run_ready(struct operation *operation)
{
    mcp_operation_answer(NULL, NULL, operation);
}

static void host_ready(void *opaque, reply_done done, void *done_opaque)
{
    mcp_session_carry_out(
        mcp_operation_new(opaque, run_ready, FOLDER_NONE, done, done_opaque));
}

static struct session *host_session(void *opaque)
{
    return ((struct mcp_session *)opaque)->session;
}

static char *host_instructions(void *opaque)
{
    struct mcp_session *host = opaque;
    struct session_config *own = NULL;
    struct session_status status;
    char *text;

    session_get_status(host->session, &status);
    if (!status.config && host->make)
        own = host->make(host->make_opaque, NULL);
    text = mcp_guest_instructions(own ? own : status.config);
    session_config_free(own);
    return text;
}

static const char *host_get_status(void *opaque,
                                   struct session_status *ret_status)
{
    const struct mcp_session *host = opaque;

    session_get_status(host->session, ret_status);
    return ret_status->state == SESSION_RUNNING ? NULL : host->start_error;
}

/* A decision that is being carried out. */
struct decided {
    struct mcp_session *host;
    char *id;
    bool always;
    char *warning; /* to send if it succeeds, or NULL */
};

static void decide(struct mcp_session *host, const char *id, bool allow,
                   bool always, char *warning);

/* The policy does not take the entry. Ask again, or, if the client's call is
 * over, allow at least these connections. */
static void not_listed(struct mcp_session *host,
                       const struct approval *approval, const GError *error)
{
    if (mcp_elicit_ask_once(host->service->elicit, approval, error->message))
        return;
    decide(host, approval->id, true, false,
           g_strdup_printf(
               "the connection to %s:%u is allowed once, not always: %s",
               approval->name, approval->port, error->message));
}

static void on_decided(const struct answer *answer, const GError *error,
                       void *opaque)
{
    struct decided *decided = opaque;
    struct mcp_session *host = decided->host;
    const struct approval *approval = session_approval_find(host->session,
                                                            decided->id);

    if (!error && decided->warning)
        session_warn_text(host->session, "connection_not_listed",
                          decided->warning);
    else if (error && decided->always && approval && !approval->is_decided &&
             mcp_session_state(host) == SESSION_RUNNING)
        not_listed(host, approval, error);
    else if (error)
        log_info(LOG_SAFEGUARD, "the MCP client's answer came too late: %s",
                 error->message);
    g_free(decided->id);
    g_free(decided->warning);
    g_free(decided);
}

/* warning: taken. */
static void decide(struct mcp_session *host, const char *id, bool allow,
                   bool always, char *warning)
{
    struct decided *decided = g_new(struct decided, 1);
    const struct approval_decision decision = {
        .id = id,
        .allow = allow,
        .is_kept = always,
    };

    *decided = (struct decided){ host, g_strdup(id), always, warning };
    session_approval_decide(host->session, &decision, on_decided, decided);
}

static void host_decide(void *opaque, const char *id, bool allow, bool always)
{
    decide(opaque, id, allow, always, NULL);
}

static const struct mcp_host mcp_host = {
    .execute = host_execute,
    .cancel = host_cancel,
    .write_file = mcp_session_write_file,
    .history = mcp_session_history,
    .rollback = mcp_session_rollback,
    .restore = mcp_session_restore,
    .redo = mcp_session_redo,
    .diff = mcp_session_diff,
    .ready = host_ready,
    .session = host_session,
    .instructions = host_instructions,
    .get_status = host_get_status,
    .folder_fd = host_folder_fd,
    .decide = host_decide,
};

/* ---- events -------------------------------------------------------------- */

static void take_own_event(struct mcp_session *host,
                           const struct session_event *event)
{
    if (event->type == SESSION_EVENT_STEP_STARTED) {
        host->step_id = host->step_id ? host->step_id : event->step_id;
    } else if (event->type == SESSION_EVENT_OUTPUT) {
        if (host->output && event->output->step_id == host->step_id)
            host->output(event->output, host->output_opaque);
    } else if (event->type == SESSION_EVENT_STEP_COMPLETED &&
               event->report->step_id == host->step_id) {
        if (host->report)
            step_report_unref(host->report);
        host->report = step_report_ref(event->report);
    }
}

static bool on_event(const struct session_event *event, void *opaque)
{
    struct mcp_session *host = opaque;

    if (host->executing)
        take_own_event(host, event);
    mcp_service_take_event(host->service, event);
    return true;
}

static void on_folders(void *opaque)
{
    struct mcp_session *host = opaque;

    /* An own session has the same single folder whether it runs or not. */
    if (!host->make)
        mcp_service_take_folders(host->service);
}

static const struct session_callbacks callbacks = {
    .event = on_event,
    .folders = on_folders,
};

/* ---- life ---------------------------------------------------------------- */

static struct mcp_session *host_new(struct session *session, unsigned grace_ms)
{
    struct mcp_session *host = g_new0(struct mcp_session, 1);

    host->session = session;
    host->folder_fd = -1;
    host->service = mcp_service_new(&mcp_host, host, grace_ms);
    session_listen(session, &callbacks, host);
    return host;
}

struct mcp_session *mcp_session_new(struct session *session)
{
    return host_new(session, GRACE_MS);
}

struct mcp_session *mcp_session_new_own(struct session *session,
                                        mcp_session_make_config make,
                                        const void *opaque, GError **error)
{
    struct session_config *config = make(opaque, error);
    struct mcp_session *host;

    if (!config)
        return NULL;
    host = host_new(session, 0);
    host->make = make;
    host->make_opaque = opaque;
    mcp_session_begin(host, config);
    return host;
}

void mcp_session_close(struct mcp_session *host)
{
    mcp_service_close(host->service);
    host_cancel(host);
}

void mcp_session_free(struct mcp_session *host)
{
    if (!host)
        return;
    mcp_service_free(host->service);
    if (host->report)
        step_report_unref(host->report);
    g_free(host->start_error);
    fd_close(&host->folder_fd);
    g_free(host);
}

struct mcp_server *mcp_session_server(struct mcp_session *host)
{
    return mcp_service_server(host->service);
}
