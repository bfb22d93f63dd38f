/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp_session - see mcp_session.h.
 *
 * The service sends one request at a time, so at most one operation waits for a
 * session start ("waiting") or is in progress.
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

#include "agent/vm/session_config.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"

/* How long a frontend may decide on a safeguard before an MCP client's answer
 * counts. */
enum { GRACE_MS = 10000 };

G_STATIC_ASSERT((int)MCP_HOST_WRITE_MAX == (int)SESSION_WRITE_MAX);

/* A request to the session. */
struct operation {
    struct mcp_session *host;
    void (*run)(struct operation *operation);
    struct reply reply;

    struct command *command;
    struct folder_ref directory;
    char *folder; /* its label */
    struct file_write *write;
    GPtrArray *paths; /* to restore, of char * */
    unsigned count;
    struct undo_extent extent;
};

struct mcp_session {
    struct session *session;
    struct mcp_state *service;

    mcp_session_make_config make; /* NULL: a frontend starts the session */
    const void *make_opaque;
    int folder_fd; /* used for reads while the session does not run, or -1 */
    bool starting;
    struct operation *waiting;
    char *start_error; /* of the last start, or NULL */

    bool executing; /* our command was accepted and is not yet answered */
    gint64 step_id; /* of our command; 0: unknown yet */
    struct step_report *report; /* of our command, or NULL */
    mcp_host_output output;
    void *output_opaque;
};

/* ---- operations ---------------------------------------------------------- */

static void operation_free(struct operation *operation)
{
    command_free(operation->command);
    g_free(operation->folder);
    file_write_free(operation->write);
    g_clear_pointer(&operation->paths, g_ptr_array_unref);
    g_free(operation);
}

static struct operation *operation_new(struct mcp_session *host,
                                       void (*run)(struct operation *),
                                       struct folder_ref directory,
                                       reply_done done, void *opaque)
{
    struct operation *operation = g_new0(struct operation, 1);

    operation->host = host;
    operation->run = run;
    operation->directory = directory;
    operation->directory.name = operation->folder = g_strdup(directory.name);
    operation->reply = (struct reply){ done, opaque };
    return operation;
}

static void on_answered(const struct answer *answer, const GError *error,
                        void *opaque)
{
    struct operation *operation = opaque;

    reply_send(&operation->reply, answer, error);
    operation_free(operation);
}

/* ---- starting an own session --------------------------------------------- */

static void start(struct mcp_session *host);

static void start_over(struct mcp_session *host, const GError *error)
{
    struct operation *operation = g_steal_pointer(&host->waiting);

    host->starting = false;
    g_clear_pointer(&host->start_error, g_free);
    if (error && error_code_of(error) != ERROR_CANCELLED) {
        host->start_error = g_strdup(error->message);
        log_warn(LOG_MCP, "the session is not running: %s", error->message);
    }
    if (!operation)
        return;
    if (error)
        on_answered(NULL, error, operation);
    else
        operation->run(operation);
}

static void on_started(const struct answer *answer, const GError *error,
                       void *opaque)
{
    start_over(opaque, error);
}

static void on_broken_stopped(const struct answer *answer, const GError *error,
                              void *opaque)
{
    start(opaque);
}

static enum session_state state_of(const struct mcp_session *host)
{
    struct session_status status;

    session_get_status(host->session, &status);
    return status.state;
}

static void start(struct mcp_session *host)
{
    g_autoptr(GError) error = NULL;
    struct session_config *config;

    host->starting = true;
    if (state_of(host) == SESSION_BROKEN) {
        session_stop(host->session, on_broken_stopped, host);
        return;
    }
    config = host->make(host->make_opaque, &error);
    if (config)
        session_start(host->session, config, on_started, host);
    else
        start_over(host, error);
}

static void carry_out(struct operation *operation)
{
    struct mcp_session *host = operation->host;
    bool running = state_of(host) == SESSION_RUNNING;

    if (!host->make || (running && !host->starting)) {
        operation->run(operation);
        return;
    }
    host->waiting = operation;
    if (!host->starting)
        start(host);
}

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
    on_answered(&own, error, operation);
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
    struct operation *operation = operation_new(host, run_execute, FOLDER_NONE,
                                                done, done_opaque);

    operation->command = command;
    host->output = output;
    host->output_opaque = done_opaque;
    carry_out(operation);
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
    on_answered(NULL, error, operation);
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

    return host->make && state_of(host) != SESSION_RUNNING && !directory.given
               ? open_folder(host, error)
               : session_folder_fd(host->session, directory, error);
}

/* ---- other host operations ----------------------------------------------- */

static void run_write(struct operation *operation)
{
    session_write_file(operation->host->session, operation->directory,
                       g_steal_pointer(&operation->write), on_answered,
                       operation);
}

static void host_write_file(void *opaque, struct folder_ref directory,
                            struct file_write *write, reply_done done,
                            void *done_opaque)
{
    struct operation *operation = operation_new(opaque, run_write, directory,
                                                done, done_opaque);

    operation->write = write;
    carry_out(operation);
}

static void run_history(struct operation *operation)
{
    session_history(operation->host->session, operation->directory,
                    operation->count, on_answered, operation);
}

static void host_history(void *opaque, struct folder_ref directory,
                         unsigned limit, reply_done done, void *done_opaque)
{
    struct operation *operation = operation_new(opaque, run_history, directory,
                                                done, done_opaque);

    operation->count = limit;
    carry_out(operation);
}

static void run_rollback(struct operation *operation)
{
    session_rollback(operation->host->session, operation->directory,
                     &operation->extent, on_answered, operation);
}

static void host_rollback(void *opaque, struct folder_ref directory,
                          const struct undo_extent *extent, reply_done done,
                          void *done_opaque)
{
    struct operation *operation = operation_new(opaque, run_rollback, directory,
                                                done, done_opaque);

    operation->extent = *extent;
    carry_out(operation);
}

static gpointer copy_path(gconstpointer path, gpointer data)
{
    return g_strdup(path);
}

static void run_restore(struct operation *operation)
{
    session_restore(operation->host->session, operation->directory,
                    &operation->extent, operation->paths, false, on_answered,
                    operation);
}

static void host_restore(void *opaque, struct folder_ref directory,
                         const struct undo_extent *extent,
                         const GPtrArray *paths, reply_done done,
                         void *done_opaque)
{
    struct operation *operation = operation_new(opaque, run_restore, directory,
                                                done, done_opaque);

    operation->extent = *extent;
    operation->paths = g_ptr_array_copy((GPtrArray *)paths, copy_path, NULL);
    carry_out(operation);
}

static const char *host_get_status(void *opaque,
                                   struct session_status *ret_status)
{
    const struct mcp_session *host = opaque;

    session_get_status(host->session, ret_status);
    return ret_status->state == SESSION_RUNNING ? NULL : host->start_error;
}

static void on_decided(const struct answer *answer, const GError *error,
                       void *opaque)
{
    if (error)
        log_info(LOG_SAFEGUARD, "the MCP client's answer came too late: %s",
                 error->message);
}

static void host_decide(void *opaque, const char *safeguard_id, bool allow)
{
    struct mcp_session *host = opaque;

    session_guard_confirm(host->session, safeguard_id, allow, on_decided, host);
}

static const struct mcp_host mcp_host = {
    .execute = host_execute,
    .cancel = host_cancel,
    .write_file = host_write_file,
    .history = host_history,
    .rollback = host_rollback,
    .restore = host_restore,
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
    host->starting = true;
    session_start(session, config, on_started, host);
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
