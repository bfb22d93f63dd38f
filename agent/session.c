/* SPDX-License-Identifier: Apache-2.0
 *
 * session - see session.h.
 *
 * Stopping with a command under way: the command is cancelled and its step
 * closed first, so that what it did stays and can be undone; the machine is
 * stopped after that. A guest that does not let go is not waited for.
 */
#include "agent/session_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "shim/wire.h"

/* The shim kills a command 2 s after a cancel; then the step is closed. */
enum { STOP_COMMAND_MS = WIRE_CANCEL_GRACE_MS + 3000 };

static const char *const state_names[] = {
    [SESSION_STOPPED] = "stopped", [SESSION_STARTING] = "starting",
    [SESSION_RUNNING] = "running", [SESSION_STOPPING] = "stopping",
    [SESSION_BROKEN] = "error",
};

/* ---- events -------------------------------------------------------------- */

struct listener {
    const struct session_callbacks *callbacks;
    void *opaque;
};

void session_listen(struct session *session,
                    const struct session_callbacks *callbacks, void *opaque)
{
    struct listener listener = { callbacks, opaque };

    g_array_append_val(session->listeners, listener);
}

void session_unlisten(struct session *session,
                      const struct session_callbacks *callbacks, void *opaque)
{
    for (guint i = 0; i < session->listeners->len; i++) {
        struct listener *listener = &g_array_index(session->listeners,
                                                   struct listener, i);

        if (listener->callbacks == callbacks && listener->opaque == opaque) {
            g_array_remove_index(session->listeners, i);
            return;
        }
    }
}

/* A listener may go when it is told something, so the list is copied. */
bool session_send_event(struct session *session, const char *type,
                        json_t *payload, bool droppable)
{
    g_autoptr(GArray) listeners = g_array_copy(session->listeners);
    bool sent = true;

    for (guint i = 0; i < listeners->len; i++) {
        const struct listener *to = &g_array_index(listeners, struct listener,
                                                   i);

        if (!to->callbacks->event(type, json_incref(payload), droppable,
                                  to->opaque) &&
            i == 0)
            sent = false;
    }
    json_decref(payload);
    return sent;
}

void session_lose_machine(struct session *session, const GError *error)
{
    json_t *payload = json_pack(
        "{s:s, s:i, s:s}", "code", error_code_name(error_code_of(error)),
        "number", error_code_of(error), "message", error->message);

    if (session->state == SESSION_RUNNING)
        session->state = SESSION_BROKEN;
    session_send_event(session, "event.error", payload, false);
    if (session->exec)
        exec_fail(session->exec, error);
    machine_stop(session->machine);
}

void session_command_over(struct session *session)
{
    if (session->state != SESSION_STOPPING || !session->stop_timer ||
        session->exec || session->writing)
        return;
    g_clear_handle_id(&session->stop_timer, g_source_remove);
    machine_stop(session->machine);
}

static void on_machine_event(const char *type, json_t *payload, void *opaque)
{
    struct session *session = opaque;

    if (strcmp(type, "event.warning") == 0) {
        if (json_array_size(session->warnings) == SESSION_WARNINGS)
            json_array_remove(session->warnings, 0);
        json_array_append(session->warnings, payload);
    }
    session_send_event(opaque, type, payload, false);
}

/* ---- the machine --------------------------------------------------------- */

static void forget_machine(struct session *session)
{
    g_clear_pointer(&session->machine, machine_free);
    if (session->resetting)
        session->reset_config = g_steal_pointer(&session->config);
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

static void abandon_start(struct session *session, const GError *error)
{
    if (!session->start_error)
        session->start_error = g_error_copy(error);
    machine_stop(session->machine);
}

/* The daemon has taken what the frontend wants of undo and safeguards. */
static void on_prepared(json_t *answer, const GError *error, json_t *data,
                        void *opaque)
{
    struct session *session = opaque;
    json_t *payload;

    session->preparations--;
    if (session->state != SESSION_STARTING)
        return;
    if (error) {
        abandon_start(session, error);
        return;
    }
    if (session->preparations > 0 || session->start_error)
        return;
    session->state = SESSION_RUNNING;
    session->last_step_id = machine_last_step_id(session->machine);
    payload = describe_machine(session);
    reply_send(&session->starter, payload, NULL, NULL);
    json_decref(payload);
}

static void prepare(struct session *session, const char *type, json_t *payload)
{
    session->preparations++;
    control_link_request(machine_link(session->machine), type,
                         json_incref(payload), on_prepared, session);
}

static void on_machine_ready(void *opaque)
{
    struct session *session = opaque;
    const struct session_config *config = session->config;

    if (config->limits)
        prepare(session, "configure", config->limits);
    if (config->rules)
        prepare(session, "safeguard.configure", config->rules);
    prepare(session, "status", NULL);
}

static void on_machine_failed(const GError *error, void *opaque)
{
    struct session *session = opaque;

    if (session->state != SESSION_STARTING) {
        session_lose_machine(session, error);
        return;
    }
    abandon_start(session, error);
}

static void on_machine_stopped(void *opaque)
{
    struct session *session = opaque;
    g_autoptr(GError) error = g_steal_pointer(&session->start_error);
    json_t *payload;

    if (session->state == SESSION_BROKEN) {
        /* What there was to know of it has been told. */
        g_clear_pointer(&session->machine, machine_free);
        return;
    }
    forget_machine(session);
    session->state = SESSION_STOPPED;
    if (!error)
        error = g_error_new_literal(STEPBACK_ERROR, ERROR_CANCELLED,
                                    "the session was stopped before it ran");
    reply_send(&session->starter, NULL, error, NULL);
    payload = json_pack("{s:s}", "state", state_names[SESSION_STOPPED]);
    reply_send(&session->stopper, payload, NULL, NULL);
    json_decref(payload);
}

static const struct machine_callbacks machine_callbacks = {
    .ready = on_machine_ready,
    .failed = on_machine_failed,
    .stopped = on_machine_stopped,
    .event = on_machine_event,
    .output = session_on_output,
    .completed = session_on_completed,
    .refused = session_on_refused,
};

/* ---- start and stop ------------------------------------------------------ */

struct session *session_new(const char *log_level,
                            const struct session_callbacks *callbacks,
                            void *opaque)
{
    struct session *session = g_new0(struct session, 1);

    session->log_level = g_strdup(log_level);
    session->warnings = json_array();
    session->listeners = g_array_new(FALSE, FALSE, sizeof(struct listener));
    session_listen(session, callbacks, opaque);
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
    session->state = SESSION_STOPPED;
    if (session->exec)
        exec_fail(session->exec, error);
    forget_machine(session);
    reply_send(&session->starter, NULL, error, NULL);
    reply_send(&session->stopper, NULL, error, NULL);
    session_config_free(session->reset_config);
    g_clear_error(&session->start_error);
    json_decref(session->warnings);
    g_array_unref(session->listeners);
    g_free(session->log_level);
    g_free(session);
}

void session_start(struct session *session, struct session_config *config,
                   reply_done done, void *opaque)
{
    GError *error = NULL;

    if (session->state != SESSION_STOPPED) {
        session_config_free(config);
        reply_post_refusal(done, opaque, ERROR_SESSION_ACTIVE,
                           "there is a session already; stop it first");
        return;
    }
    session->config = config;
    json_array_clear(session->warnings);
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
    session->state = SESSION_STARTING;
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
    if (session->state == SESSION_STOPPED) {
        reply_post_refusal(done, opaque, ERROR_NO_SESSION,
                           "there is no session");
        return;
    }
    if (session->state == SESSION_STOPPING) {
        reply_post_refusal(done, opaque, ERROR_BUSY,
                           "the session is being stopped");
        return;
    }
    session->stopper = (struct reply){ done, opaque };
    session->state = SESSION_STOPPING;
    if (session->exec || session->writing) {
        session->stop_timer = g_timeout_add(STOP_COMMAND_MS, stop_machine,
                                            session);
        session_cancel(session);
    } else if (session->machine) {
        machine_stop(session->machine);
    } else {
        session->stop_timer = g_idle_add(stop_nothing, session);
    }
}

static void on_reset_stopped(json_t *payload, const GError *error, json_t *data,
                             void *opaque)
{
    struct session *session = opaque;
    struct session_config *config = g_steal_pointer(&session->reset_config);
    struct reply reply = session->resetter;

    session->resetting = false;
    session->resetter.done = NULL;
    if (error) {
        session_config_free(config);
        reply_send(&reply, NULL, error, NULL);
        return;
    }
    config->wipe = true;
    session_start(session, config, reply.done, reply.opaque);
}

void session_reset(struct session *session, struct session_config *config,
                   reply_done done, void *opaque)
{
    bool given = config != NULL;

    if (session->state == SESSION_STOPPED && given) {
        config->wipe = true;
        session_start(session, config, done, opaque);
        return;
    }
    session_config_free(config);
    if (session->state == SESSION_STOPPED) {
        reply_post_refusal(done, opaque, ERROR_NO_SESSION,
                           "there is no session; to reset a machine that does "
                           "not run, say which with the fields of "
                           "session.start");
    } else if (given) {
        reply_post_refusal(done, opaque, ERROR_SESSION_ACTIVE,
                           "there is a session, which is reset as it is: "
                           "without the fields of session.start");
    } else if (session->state != SESSION_RUNNING &&
               session->state != SESSION_BROKEN) {
        reply_post_refusal(done, opaque, ERROR_BUSY,
                           "the session is being started or stopped");
    } else {
        session->resetting = true;
        session->resetter = (struct reply){ done, opaque };
        session_stop(session, on_reset_stopped, session);
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

    if (session->state == SESSION_RUNNING)
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

gboolean session_check_running(struct session *session, GError **error)
{
    if (session->state == SESSION_RUNNING)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_NO_SESSION,
                "no session runs: its state is %s",
                state_names[session->state]);
    return FALSE;
}

gboolean session_check_idle(struct session *session, GError **error)
{
    if (!session_check_running(session, error))
        return FALSE;
    if (!session->exec && !session->writing)
        return TRUE;
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_STEP_ACTIVE,
                        session->exec
                            ? "a command runs; cancel it or wait for its end"
                            : "a file is being written");
    return FALSE;
}
