/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_supervise - "stepback supervise NAME": the process of a sandbox, which
 * "up" starts.
 *
 * It serves the API and MCP on sockets, starts the session of config.json, and
 * ends in order on SIGTERM, when no client is connected and nothing runs for
 * the idle timeout, when a client stops the session, and when the machine is
 * lost. A second signal does not wait for the machine. Before it unlocks the
 * sandbox, it writes how the sandbox ended.
 *
 * --ready-fd: a pipe that gets one JSON line, the answer to the start. If its
 * reader is gone before, the start is abandoned. --lock-fd: the lock, which the
 * starter has taken.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/runtime_dir.h"
#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_summary.h"
#include "agent/mcp/mcp_session.h"
#include "agent/mcp/mcp_socket.h"
#include "agent/sandbox/audit_file.h"
#include "agent/sandbox/sandbox_audit.h"
#include "agent/sandbox/sandbox_file.h"
#include "agent/sandbox/sandbox_log.h"
#include "agent/sandbox/sandbox_record.h"
#include "agent/sandbox/sandbox_spawn.h"
#include "agent/sandbox/sandbox_store.h"
#include "agent/session/session_exec.h"
#include "agent/stdio/api_socket.h"
#include "agent/stdio/stdio_ops.h"
#include "agent/machine/share_check.h"
#include "agent/wire/config_json.h"
#include "agent/wire/status_json.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/message.h"

enum { STOP_RETRY_MS = 50, TICK_S = 1, PROGRESS_MS = 100 };

struct supervisor {
    GMainLoop *loop;
    char *name;
    int dir_fd, lock_fd, ready_fd;
    guint ready_source, progress_timer;
    char *waits_for; /* as the starter knows it */
    json_t *config;  /* config.json */
    gint64 idle_timeout_s;
    gint64 last_use; /* by others than clients of api; monotonic time */

    struct session *session;
    struct sandbox_audit *audit;
    struct runtime_dir *runtime;
    struct api_socket *api;
    struct mcp_session *mcp;
    struct listener *mcp_socket;
    char *api_path, *mcp_path;

    pid_t holder;     /* of the machine, as run.json has it */
    bool was_running; /* the start has succeeded */
    bool ending, signalled;
    const char *reason; /* of the end */
    char *message;
};

/* ---- the end ------------------------------------------------------------- */

static gboolean stop(gpointer data);

static void on_stopped(const struct answer *answer, const GError *error,
                       void *opaque)
{
    struct supervisor *self = opaque;

    /* Busy: a client has already requested a stop or a reset. */
    if (error && error_code_of(error) == ERROR_BUSY)
        g_timeout_add(STOP_RETRY_MS, stop, self);
    else
        g_main_loop_quit(self->loop);
}

static gboolean stop(gpointer data)
{
    struct supervisor *self = data;

    session_stop(self->session, on_stopped, self);
    return G_SOURCE_REMOVE;
}

/* A reset replaces the machine, perhaps by one of the pool. If writing fails,
 * "stats" does not count the machine. */
static void note_holder(struct supervisor *self, pid_t holder)
{
    g_autoptr(GError) error = NULL;
    json_t *run;

    if (holder == self->holder)
        return;
    self->holder = holder;
    run = sandbox_file_read(self->dir_fd, SANDBOX_RUN, &error);
    if (!run || !sandbox_file_write(self->dir_fd, SANDBOX_RUN,
                                    sandbox_run_holder(run, holder), &error))
        log_warn(LOG_SESSION, "%s", error->message);
}

/* If that fails, the sandbox appears to run until it has ended. */
static void write_ending(struct supervisor *self)
{
    g_autoptr(GError) error = NULL;
    json_t *run = sandbox_file_read(self->dir_fd, SANDBOX_RUN, &error);

    if (!run || !sandbox_file_write(self->dir_fd, SANDBOX_RUN,
                                    sandbox_run_ending(run), &error))
        log_warn(LOG_SESSION, "%s", error->message);
}

/* message may be NULL. */
static void end(struct supervisor *self, const char *reason,
                const char *message)
{
    if (self->ending)
        return;
    self->ending = true;
    self->reason = reason;
    self->message = message ? g_utf8_make_valid(message, -1) : NULL;
    log_info(LOG_SESSION, "the sandbox ends: %s", reason);
    write_ending(self);
    stop(self);
}

static gboolean on_signal(gpointer data)
{
    struct supervisor *self = data;

    if (self->signalled) {
        self->reason = "killed";
        session_kill(self->session);
    }
    self->signalled = true;
    end(self, "stopped", NULL);
    return G_SOURCE_CONTINUE;
}

/* ---- the start ----------------------------------------------------------- */

/* Answer the starter (message is taken), and leave it. */
static void report(struct supervisor *self, json_t *message)
{
    g_clear_handle_id(&self->ready_source, g_source_remove);
    g_clear_handle_id(&self->progress_timer, g_source_remove);
    sandbox_spawn_tell(self->ready_fd, message);
    fd_close(&self->ready_fd);
}

/* A start waits for few things, so that this never fills the pipe. */
static gboolean on_progress(gpointer data)
{
    struct supervisor *self = data;
    struct session_status status;

    session_get_status(self->session, &status);
    if (!status.waits_for || g_strcmp0(status.waits_for, self->waits_for) == 0)
        return G_SOURCE_CONTINUE;
    g_free(self->waits_for);
    self->waits_for = g_strdup(status.waits_for);
    sandbox_spawn_note(self->ready_fd, "waits_for", self->waits_for);
    return G_SOURCE_CONTINUE;
}

static gboolean write_run(struct supervisor *self, bool running, GError **error)
{
    return sandbox_file_write(
        self->dir_fd, SANDBOX_RUN,
        sandbox_run_new(self->api_path, self->mcp_path, running), error);
}

static void on_started(const struct answer *answer, const GError *error,
                       void *opaque)
{
    struct supervisor *self = opaque;
    g_autoptr(GError) write_error = NULL;
    struct session_status status;

    session_get_status(self->session, &status);
    if (!error && !write_run(self, true, &write_error))
        error = write_error;
    if (error) {
        report(self, message_gerror(NULL, error));
        end(self, "start_failed", error->message);
        return;
    }
    self->was_running = true;
    sandbox_audit_start(self->audit);
    self->last_use = g_get_monotonic_time();
    note_holder(self, status.holder);
    report(self, message_response(NULL, session_to_json(&status)));
}

/* The starter has ended before the sandbox was running. */
static gboolean on_starter_gone(int fd, GIOCondition condition, gpointer data)
{
    struct supervisor *self = data;

    self->ready_source = 0;
    g_clear_handle_id(&self->progress_timer, g_source_remove);
    end(self, "stopped", "the start was abandoned");
    return G_SOURCE_REMOVE;
}

/* ---- watching ------------------------------------------------------------ */

static bool has_executions(const struct supervisor *self)
{
    struct exec_info info;

    for (unsigned i = 0; i < session_exec_count(self->session); i++) {
        session_exec_get(self->session, i, &info);
        if (info.state != EXEC_ENDED)
            return true;
    }
    return false;
}

static bool is_in_use(const struct supervisor *self)
{
    return !self->was_running || has_executions(self) ||
           mcp_server_clients(mcp_session_server(self->mcp)) > 0;
}

static void check_idle(struct supervisor *self)
{
    gint64 now = g_get_monotonic_time(), last_use;

    if (is_in_use(self))
        self->last_use = now;
    last_use = MAX(self->last_use, api_socket_last_use(self->api));
    if (self->idle_timeout_s > 0 &&
        now - last_use >= self->idle_timeout_s * G_USEC_PER_SEC)
        end(self, "idle", NULL);
}

static gboolean on_tick(gpointer data)
{
    struct supervisor *self = data;
    struct session_status status;

    sandbox_log_rotate(self->dir_fd);
    session_get_status(self->session, &status);
    if (self->was_running && !self->ending)
        note_holder(self, status.holder);
    if (self->was_running && status.state == SESSION_STOPPED)
        end(self, "stopped", "a client stopped the session");
    else
        check_idle(self);
    return G_SOURCE_CONTINUE;
}

/* Tell the starter which step, interrupted by a crash, is rolled back. */
static void tell_recovery(const struct supervisor *self, json_t *payload)
{
    g_autofree char *line = cli_summary_recovery(payload);

    sandbox_spawn_note(self->ready_fd, "recovered", line);
}

/* Implements session_callbacks.event. */
static bool on_event(const struct session_event *event, void *opaque)
{
    struct supervisor *self = opaque;
    struct session_status status;

    session_get_status(self->session, &status);
    if (event->type == SESSION_EVENT_ERROR && status.state == SESSION_BROKEN)
        end(self, "machine_lost", event->error->message);
    else if (event->type == SESSION_EVENT_RELAYED &&
             strcmp(event->name, "event.recovery") == 0)
        tell_recovery(self, event->payload);
    return true;
}

static const struct session_callbacks session_callbacks = {
    .event = on_event,
};

/* ---- the sockets --------------------------------------------------------- */

static json_t *greet(void *opaque)
{
    struct supervisor *self = opaque;

    return json_pack("{s:i, s:s, s:s?, s:s}", "protocol_version",
                     STDIO_API_PROTOCOL_VERSION, "agent_version",
                     PACKAGE_VERSION, "mcp_socket", self->mcp_path, "sandbox",
                     self->name);
}

static json_t *describe(void *opaque)
{
    struct supervisor *self = opaque;
    struct session_status status;

    session_get_status(self->session, &status);
    return json_pack("{s:s, s:O, s:i, s:s, s:s?, s:I, s:i, s:i, s:o}", "name",
                     self->name, "created",
                     json_object_get(self->config, "created"), "pid",
                     (int)getpid(), "api_socket", self->api_path, "mcp_socket",
                     self->mcp_path, "idle_timeout_seconds",
                     (json_int_t)self->idle_timeout_s, "api_clients",
                     (int)api_socket_clients(self->api), "mcp_clients",
                     (int)mcp_server_clients(mcp_session_server(self->mcp)),
                     "session", status_to_json(&status));
}

static const struct api_socket_callbacks api_callbacks = {
    .describe = describe,
    .greet = greet,
};

static gboolean open_sockets(struct supervisor *self,
                             const struct session_config *config,
                             GError **error)
{
    const char *shared[SESSION_MAX_DIRECTORIES + 1] = { NULL };

    for (unsigned i = 0; i < config->n_directories; i++)
        shared[i] = config->directories[i]->path;
    self->runtime = runtime_dir_new_named(self->name, shared, error);
    if (!self->runtime)
        return FALSE;
    if (runtime_dir_note(self->runtime))
        log_warn(LOG_SESSION, "%s", runtime_dir_note(self->runtime));
    self->api_path = runtime_dir_path(self->runtime, "api.sock");
    self->mcp_path = runtime_dir_path(self->runtime, "mcp.sock");
    self->api = api_socket_new(self->api_path, self->session, &api_callbacks,
                               self, error);
    if (self->api)
        self->mcp_socket = mcp_socket_new(mcp_session_server(self->mcp),
                                          self->mcp_path, error);
    return self->mcp_socket && write_run(self, false, error);
}

/* ---- life ---------------------------------------------------------------- */

/* Open the state directory, the lock and the log. */
static gboolean open_state(struct supervisor *self, GError **error)
{
    self->dir_fd = sandbox_store_open(self->name, error);
    if (self->dir_fd < 0)
        return FALSE;
    if (self->lock_fd < 0)
        self->lock_fd = sandbox_store_lock(self->dir_fd, error);
    if (self->lock_fd < 0 || !sandbox_log_open(self->dir_fd, error))
        return FALSE;
    self->config = sandbox_file_read(self->dir_fd, SANDBOX_CONFIG, error);
    if (!self->config)
        return FALSE;
    unlinkat(self->dir_fd, SANDBOX_END, 0);
    unlinkat(self->dir_fd, SANDBOX_RUN, 0);
    unlinkat(self->dir_fd, SANDBOX_CONSOLE, 0);
    self->idle_timeout_s = json_integer_value(
        json_object_get(self->config, "idle_timeout_seconds"));
    return TRUE;
}

/* Return the session's configuration: a new object. */
static struct session_config *make_config(struct supervisor *self,
                                          GError **error)
{
    struct session_config *config = config_from_json(
        json_object_get(self->config, "session"), error);
    g_autofree char *path = sandbox_store_path(self->name);
    /* A folder with one of the record's parts contains this one. */
    g_autofree char *audit = audit_file_path(AUDIT_NETWORK, self->name);

    if (!config)
        return NULL;
    if (share_check_state(config, "the state directory of the sandbox", path,
                          error) &&
        share_check_state(config, "the audit record", audit, error)) {
        config->console = g_build_filename(path, SANDBOX_CONSOLE, NULL);
        return config;
    }
    session_config_free(config);
    return NULL;
}

static void run(struct supervisor *self, struct session_config *config)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
    g_autoptr(GError) error = NULL;

    self->loop = g_main_loop_new(NULL, FALSE);
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++)
        g_unix_signal_add(signals[i], on_signal, self);
    self->session = session_new("info", &session_callbacks, self);
    self->audit = sandbox_audit_new(self->name, self->session);
    self->mcp = mcp_session_new(self->session);
    if (open_sockets(self, config, &error)) {
        if (self->ready_fd >= 0) {
            self->ready_source = g_unix_fd_add(self->ready_fd, G_IO_ERR,
                                               on_starter_gone, self);
            self->progress_timer = g_timeout_add(PROGRESS_MS, on_progress,
                                                 self);
        }
        session_start(self->session, config, on_started, self);
        g_timeout_add_seconds(TICK_S, on_tick, self);
        g_main_loop_run(self->loop);
    } else {
        session_config_free(config);
        report(self, message_gerror(NULL, error));
        self->reason = "start_failed";
        self->message = g_strdup(error->message);
    }
    g_clear_pointer(&self->mcp_socket, listener_free);
    mcp_session_close(self->mcp);
    session_end(self->session);
    mcp_session_free(self->mcp);
    g_clear_pointer(&self->api, api_socket_free);
    sandbox_audit_end(self->audit, self->reason, self->message);
    sandbox_audit_free(self->audit);
    session_free(self->session);
    runtime_dir_free(self->runtime);
    g_main_loop_unref(self->loop);
}

static int supervise(struct supervisor *self)
{
    g_autoptr(GError) error = NULL;
    struct session_config *config = NULL;

    if (open_state(self, &error))
        config = make_config(self, &error);
    if (config) {
        run(self, config);
    } else {
        log_error(LOG_SESSION, "%s", error->message);
        report(self, message_gerror(NULL, error));
        self->reason = "start_failed";
        self->message = g_strdup(error->message);
    }
    g_clear_error(&error);
    /* Without a configuration the directory is left alone: it may be another
     * version's. */
    if (self->config &&
        !sandbox_file_write(self->dir_fd, SANDBOX_END,
                            sandbox_end_new(self->reason, self->message),
                            &error))
        log_error(LOG_SESSION, "%s", error->message);
    return strcmp(self->reason, "start_failed") == 0 ? CLI_FAILED : CLI_OK;
}

int cli_supervise(int argc, char **argv)
{
    int ready_fd = -1, lock_fd = -1, status;
    const GOptionEntry entries[] = {
        { "ready-fd", 0, 0, G_OPTION_ARG_INT, &ready_fd,
          "write the answer to the start to this pipe", "FD" },
        { "lock-fd", 0, 0, G_OPTION_ARG_INT, &lock_fd,
          "the lock of the sandbox, if it is held already", "FD" },
        { NULL },
    };
    struct supervisor self = { .dir_fd = -1 };

    if (!cli_options_parse("NAME - run the supervisor of a sandbox", entries,
                           false, &argc, &argv))
        return CLI_USAGE;
    if (argc != 2)
        return cli_options_wrong("supervise: give the name of a sandbox");
    self.name = argv[1];
    self.ready_fd = ready_fd;
    self.lock_fd = lock_fd;
    if (ready_fd >= 0)
        fcntl(ready_fd, F_SETFD, FD_CLOEXEC);
    if (lock_fd >= 0)
        fcntl(lock_fd, F_SETFD, FD_CLOEXEC);
    log_set_level(LOG_LEVEL_INFO);
    status = supervise(&self);
    json_decref(self.config);
    g_free(self.api_path);
    g_free(self.mcp_path);
    g_free(self.message);
    g_free(self.waits_for);
    fd_close(&self.dir_fd);
    fd_close(&self.lock_fd);
    return status;
}
