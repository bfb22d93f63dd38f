/* SPDX-License-Identifier: Apache-2.0
 *
 * session - see session.h.
 *
 * Stopping with a command under way: the command is cancelled and its step
 * closed first, so that what it did stays and can be undone; the machine is
 * stopped after that. A guest that does not let go is not waited for.
 */
#include "agent/session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/exec.h"
#include "agent/machine.h"
#include "common/fd.h"
#include "common/log.h"
#include "shim/wire.h"

/* The shim kills a command 2 s after a cancel; then the step is closed. */
enum { STOP_COMMAND_MS = WIRE_CANCEL_GRACE_MS + 3000 };

enum session_state { STOPPED, STARTING, RUNNING, STOPPING, BROKEN };

static const char *const state_names[] = {
    [STOPPED] = "stopped",   [STARTING] = "starting", [RUNNING] = "running",
    [STOPPING] = "stopping", [BROKEN] = "error",
};

struct session {
    enum session_state state;
    char *log_level;
    const struct session_callbacks *callbacks;
    void *opaque;

    struct session_config *config;
    struct machine *machine;
    int folder_fd;
    GError *start_error; /* why the start failed, while what ran is ended */
    struct reply starter, stopper;

    gint64 last_step_id;
    struct exec *exec; /* the command that runs, or NULL */
    struct reply executor;
    guint stop_timer;
};

/* ---- commands ------------------------------------------------------------ */

static void on_machine_event(const char *type, json_t *payload, void *opaque)
{
    struct session *session = opaque;

    session->callbacks->event(type, payload, false, session->opaque);
}

static bool on_exec_event(const char *type, json_t *payload, bool droppable,
                          void *opaque)
{
    struct session *session = opaque;

    return session->callbacks->event(type, payload, droppable, session->opaque);
}

static void on_exec_done(struct exec *exec, json_t *report, const GError *error,
                         void *opaque)
{
    struct session *session = opaque;
    json_t *data = json_pack("{s:I}", "step_id",
                             (json_int_t)exec_step_id(exec));

    session->exec = NULL;
    exec_free(exec);
    reply_send(&session->executor, report, error, data);
    json_decref(data);
    if (session->state == STOPPING && session->stop_timer) {
        g_clear_handle_id(&session->stop_timer, g_source_remove);
        machine_stop(session->machine);
    }
}

/* The machine runs no more, or must not: keep the session as an error. */
static void lose_machine(struct session *session, const GError *error)
{
    json_t *payload = json_pack(
        "{s:s, s:i, s:s}", "code", error_code_name(error_code_of(error)),
        "number", error_code_of(error), "message", error->message);

    if (session->state == RUNNING)
        session->state = BROKEN;
    session->callbacks->event("event.error", payload, false, session->opaque);
    if (session->exec)
        exec_fail(session->exec, error);
    machine_stop(session->machine);
}

static void on_exec_stuck(struct exec *exec, void *opaque)
{
    g_autoptr(GError)
        error = g_error_new_literal(STEPBACK_ERROR, ERROR_CONTROL_DISCONNECTED,
                                    "the guest does not end the command");

    lose_machine(opaque, error);
}

static const struct exec_callbacks exec_callbacks = {
    .event = on_exec_event,
    .done = on_exec_done,
    .stuck = on_exec_stuck,
};

/* ---- the machine --------------------------------------------------------- */

static void forget_machine(struct session *session)
{
    g_clear_pointer(&session->machine, machine_free);
    g_clear_pointer(&session->config, session_config_free);
    fd_close(&session->folder_fd);
}

static json_t *describe_directories(const struct session *session)
{
    const struct session_config *config = session->config;
    json_t *entry = json_pack("{s:s, s:s, s:s}", "label", config->label,
                              "access",
                              config->read_only ? "read_only" : "read_write",
                              "guest_path", WIRE_DEFAULT_CWD);
    const char *undo_dir = machine_undo_dir(session->machine);

    /* Paths that are not UTF-8 have no place in JSON. */
    json_object_set_new(entry, "path", json_string(config->path));
    json_object_set_new(entry, "undo_dir",
                        undo_dir ? json_string(undo_dir) : json_null());
    return json_pack("[o]", entry);
}

static json_t *describe_machine(const struct session *session)
{
    return json_pack(
        "{s:s, s:s, s:I, s:s, s:o}", "state", state_names[session->state],
        "accel", accel_name(machine_accel(session->machine)), "boot_ms",
        (json_int_t)machine_boot_ms(session->machine), "backend", "virtiofs",
        "working_directories", describe_directories(session));
}

static void on_machine_ready(void *opaque)
{
    struct session *session = opaque;
    json_t *payload;

    session->state = RUNNING;
    session->last_step_id = machine_last_step_id(session->machine);
    payload = describe_machine(session);
    reply_send(&session->starter, payload, NULL, NULL);
    json_decref(payload);
}

static void on_machine_failed(const GError *error, void *opaque)
{
    struct session *session = opaque;

    if (session->state != STARTING) {
        lose_machine(session, error);
        return;
    }
    session->start_error = g_error_copy(error);
    machine_stop(session->machine);
}

static void on_machine_stopped(void *opaque)
{
    struct session *session = opaque;
    g_autoptr(GError) error = g_steal_pointer(&session->start_error);
    json_t *payload;

    if (session->state == BROKEN) {
        /* What there was to know of it has been told. */
        g_clear_pointer(&session->machine, machine_free);
        return;
    }
    forget_machine(session);
    session->state = STOPPED;
    if (!error)
        error = g_error_new_literal(STEPBACK_ERROR, ERROR_CANCELLED,
                                    "the session was stopped before it ran");
    reply_send(&session->starter, NULL, error, NULL);
    payload = json_pack("{s:s}", "state", state_names[STOPPED]);
    reply_send(&session->stopper, payload, NULL, NULL);
    json_decref(payload);
}

static void complain(struct session *session, const char *what)
{
    guest_channel_complain(machine_guest(session->machine),
                           "%s of a command that does not run", what);
}

static void on_output(gint64 id, const char *stream, const char *data,
                      size_t len, void *opaque)
{
    struct session *session = opaque;

    if (!session->exec ||
        !exec_take_output(session->exec, id, stream, data, len))
        complain(session, "output");
}

static void on_completed(gint64 id, int exit_code, int number, void *opaque)
{
    struct session *session = opaque;

    if (!session->exec ||
        !exec_take_completed(session->exec, id, exit_code, number))
        complain(session, "end");
}

static void on_refused(gint64 id, const char *message, void *opaque)
{
    struct session *session = opaque;

    if (!session->exec || !exec_take_refused(session->exec, id, message))
        complain(session, "refusal");
}

static const struct machine_callbacks machine_callbacks = {
    .ready = on_machine_ready,
    .failed = on_machine_failed,
    .stopped = on_machine_stopped,
    .event = on_machine_event,
    .output = on_output,
    .completed = on_completed,
    .refused = on_refused,
};

/* ---- start and stop ------------------------------------------------------ */

struct session *session_new(const char *log_level,
                            const struct session_callbacks *callbacks,
                            void *opaque)
{
    struct session *session = g_new0(struct session, 1);

    session->log_level = g_strdup(log_level);
    session->callbacks = callbacks;
    session->opaque = opaque;
    session->folder_fd = -1;
    return session;
}

void session_free(struct session *session)
{
    g_autoptr(GError) error = g_error_new_literal(
        STEPBACK_ERROR, ERROR_CANCELLED, "the agent ends");

    if (!session)
        return;
    g_clear_handle_id(&session->stop_timer, g_source_remove);
    session->state = STOPPED;
    if (session->exec)
        exec_fail(session->exec, error);
    forget_machine(session);
    reply_send(&session->starter, NULL, error, NULL);
    reply_send(&session->stopper, NULL, error, NULL);
    g_clear_error(&session->start_error);
    g_free(session->log_level);
    g_free(session);
}

void session_start(struct session *session, struct session_config *config,
                   reply_done done, void *opaque)
{
    GError *error = NULL;

    if (session->state != STOPPED) {
        session_config_free(config);
        reply_post_refusal(done, opaque, ERROR_SESSION_ACTIVE,
                           "there is a session already; stop it first");
        return;
    }
    session->config = config;
    session->folder_fd = open(config->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (session->folder_fd < 0)
        g_set_error(&error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "the working folder %s: %s", config->path,
                    g_strerror(errno));
    else
        session->machine = machine_new(config, session->log_level,
                                       &machine_callbacks, session, &error);
    if (!session->machine) {
        forget_machine(session);
        reply_post_error(done, opaque, error);
        return;
    }
    session->state = STARTING;
    session->starter = (struct reply){ done, opaque };
}

static gboolean stop_machine(gpointer data)
{
    struct session *session = data;

    log_warn(LOG_SESSION, "the command did not end in time; the machine is "
                          "stopped with it");
    session->stop_timer = 0;
    machine_stop(session->machine);
    return G_SOURCE_REMOVE;
}

static gboolean stop_nothing(gpointer data)
{
    struct session *session = data;

    session->stop_timer = 0;
    on_machine_stopped(session);
    return G_SOURCE_REMOVE;
}

void session_stop(struct session *session, reply_done done, void *opaque)
{
    if (session->state == STOPPED) {
        reply_post_refusal(done, opaque, ERROR_NO_SESSION,
                           "there is no session");
        return;
    }
    if (session->state == STOPPING) {
        reply_post_refusal(done, opaque, ERROR_BUSY,
                           "the session is being stopped");
        return;
    }
    session->stopper = (struct reply){ done, opaque };
    session->state = STOPPING;
    if (session->exec) {
        session->stop_timer = g_timeout_add(STOP_COMMAND_MS, stop_machine,
                                            session);
        exec_cancel(session->exec, ERROR_CANCELLED);
    } else if (session->machine) {
        machine_stop(session->machine);
    } else {
        session->stop_timer = g_idle_add(stop_nothing, session);
    }
}

void session_kill(struct session *session)
{
    if (session->machine)
        machine_kill(session->machine);
}

json_t *session_status(const struct session *session)
{
    json_t *status;

    if (session->state == RUNNING)
        status = describe_machine(session);
    else
        status = json_pack("{s:s}", "state", state_names[session->state]);
    json_object_set_new(status, "running_step",
                        session->exec
                            ? json_integer(exec_step_id(session->exec))
                            : json_null());
    return status;
}

/* ---- operations of a running session ------------------------------------- */

static gboolean check_running(struct session *session, GError **error)
{
    if (session->state == RUNNING)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_NO_SESSION,
                "no session runs: its state is %s",
                state_names[session->state]);
    return FALSE;
}

static char *guest_cwd(const char *cwd)
{
    return cwd && g_path_is_absolute(cwd)
               ? g_strdup(cwd)
               : g_build_filename(WIRE_DEFAULT_CWD, cwd, NULL);
}

void session_execute(struct session *session,
                     const struct session_command *command, reply_done done,
                     void *opaque)
{
    g_autofree char *cwd = guest_cwd(command->cwd);
    const struct exec_request request = {
        .step_id = session->last_step_id + 1,
        .command = command->command,
        .cwd = cwd,
        .env = command->env,
        .timeout_seconds = command->timeout_seconds,
    };
    GError *error = NULL;

    if (check_running(session, &error) && session->exec)
        error = g_error_new_literal(STEPBACK_ERROR, ERROR_BUSY,
                                    "a command runs already");
    if (error) {
        reply_post_error(done, opaque, error);
        return;
    }
    session->exec = exec_new(
        &request,
        machine_undo_dir(session->machine) ? machine_link(session->machine)
                                           : NULL,
        machine_guest(session->machine), &exec_callbacks, session, &error);
    if (!session->exec) {
        reply_post_error(done, opaque, error);
        return;
    }
    session->last_step_id = request.step_id;
    session->executor = (struct reply){ done, opaque };
}

bool session_cancel(struct session *session)
{
    if (!session->exec)
        return false;
    exec_cancel(session->exec, ERROR_CANCELLED);
    return true;
}

struct undo_request {
    struct session *session;
    struct reply reply;
    bool rollback;
};

/* The guest's kernel may remember names and sizes that are no more. */
static void notify_guest(struct session *session, json_t *payload)
{
    json_t *steps = json_object_get(payload, "steps");
    json_t *oldest = json_array_get(steps, json_array_size(steps) - 1);

    if (session->state == RUNNING && oldest)
        guest_channel_rollback_notify(
            machine_guest(session->machine),
            json_integer_value(json_object_get(oldest, "step_id")));
}

static void on_undo_answered(json_t *payload, const GError *error, json_t *data,
                             void *opaque)
{
    struct undo_request *request = opaque;

    /* An error may have stopped it after some steps. */
    if (request->rollback && (payload || data))
        notify_guest(request->session, payload ? payload : data);
    reply_send(&request->reply, payload, error, data);
    g_free(request);
}

/* payload is taken. */
static void ask_undo(struct session *session, const char *type, json_t *payload,
                     reply_done done, void *opaque)
{
    struct undo_request *request;
    GError *error = NULL;

    if (check_running(session, &error) && session->exec)
        error = g_error_new_literal(STEPBACK_ERROR, ERROR_STEP_ACTIVE,
                                    "a command runs; cancel it or wait for "
                                    "its end");
    if (error) {
        json_decref(payload);
        reply_post_error(done, opaque, error);
        return;
    }
    request = g_new0(struct undo_request, 1);
    request->session = session;
    request->reply = (struct reply){ done, opaque };
    request->rollback = strcmp(type, "rollback") == 0;
    control_link_request(machine_link(session->machine), type, payload,
                         on_undo_answered, request);
}

void session_rollback(struct session *session, unsigned steps, bool force,
                      reply_done done, void *opaque)
{
    ask_undo(
        session, "rollback",
        json_pack("{s:I, s:b}", "steps", (json_int_t)steps, "force", force),
        done, opaque);
}

void session_history(struct session *session, unsigned limit, reply_done done,
                     void *opaque)
{
    ask_undo(session, "history", json_pack("{s:I}", "limit", (json_int_t)limit),
             done, opaque);
}

int session_folder_fd(struct session *session, GError **error)
{
    return check_running(session, error) ? session->folder_fd : -1;
}
