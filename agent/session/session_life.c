/* SPDX-License-Identifier: Apache-2.0
 *
 * session_life - see session.h: states, start and stop.
 *
 * A stop during a command cancels the command and closes its step first, so
 * that its changes stay and can be undone; then the machine stops. A guest that
 * does not end its command is not waited for.
 */
#include "agent/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/client/settings_json.h"
#include "agent/isolation/isolation.h"
#include "agent/session/exec.h"
#include "agent/session/session_asks.h"
#include "agent/session/session_command.h"
#include "agent/session/session_core.h"
#include "agent/session/guest_request.h"
#include "agent/session/session_daemon.h"
#include "agent/session/session_execution.h"
#include "agent/session/session_guard.h"
#include "agent/session/session_grants.h"
#include "agent/session/session_patch.h"
#include "agent/session/session_port.h"
#include "agent/session/session_writers.h"
#include "agent/session/session_guest_steps.h"
#include "common/fd.h"
#include "common/log.h"
#include "shim/wire.h"

/* The shim kills a command 2 s after a cancel; then the step is closed. If the
 * shim does not report in time, the step is closed without it. */
enum { STOP_COMMAND_MS = WIRE_CANCEL_GRACE_MS + 3000, STOP_STEP_MS = 5000 };

static void on_machine_event(const char *type, json_t *payload, void *opaque)
{
    struct folder_warning *warning = strcmp(type, "event.warning") == 0
                                         ? warning_from_json(payload, NULL)
                                         : NULL;
    const struct session_event event = {
        .type = warning ? SESSION_EVENT_WARNING : SESSION_EVENT_RELAYED,
        /* The guest can cause any number of these. */
        .droppable = g_str_has_prefix(type, "event.port_") ||
                     g_str_has_prefix(type, "event.network_"),
        .warning = warning,
        .name = type,
        .payload = payload,
    };

    session_send(opaque, &event);
    folder_warning_free(warning);
    relayed_unref(payload);
}

static void on_network_missed(guint64 count, void *opaque)
{
    session_tell_missed(opaque, count);
}

/* ---- the machine --------------------------------------------------------- */

/* Free the machine; while it still exists, fail its waiting requests. */
static void free_machine(struct session *session)
{
    g_autoptr(GError) error = g_error_new_literal(
        STEPBACK_ERROR, ERROR_CANCELLED, "the machine was stopped");

    g_clear_handle_id(&session->stop_timer, g_source_remove);
    session_fail_commands(session, error);
    if (!session->machine)
        return;
    backends_close_links(machine_backends(session->machine));
    session->counters.guest_messages_ignored += machine_complaints(
        session->machine);
    g_clear_pointer(&session->machine, machine_free);
    session_writers_clear(session);
}

static void forget_machine(struct session *session)
{
    free_machine(session);
    session_grants_end(session);
    g_hash_table_remove_all(session->undone);
    g_ptr_array_set_size(session->questions, 0);
    g_ptr_array_set_size(session->guest_requests, 0);
    g_ptr_array_set_size(session->guest_records, 0);
    if (session->resetting)
        session->reset_config = g_steal_pointer(&session->config);
    g_clear_pointer(&session->config, session_config_free);
    for (unsigned i = 0; i < SESSION_MAX_DIRECTORIES; i++) {
        fd_close(&session->folders[i].fd);
        g_clear_pointer(&session->folders[i].warnings, g_ptr_array_unref);
    }
}

static void abandon_start(struct session *session, const GError *error)
{
    if (!session->start_error)
        session->start_error = g_error_copy(error);
    machine_stop(session->machine);
}

/* The daemon has applied the frontend's undo and safeguard settings. */
static void on_prepared(json_t *answer, const GError *error, json_t *data,
                        void *opaque)
{
    struct session *session = opaque;

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
    session_port_keep(session);
    session->last_step_id = backends_last_step_id(
        machine_backends(session->machine));
    session_grants_restore(session);
}

/* payload is taken. */
static void prepare(struct session *session, unsigned index, const char *type,
                    json_t *payload)
{
    session->preparations++;
    control_link_request(
        backends_link(machine_backends(session->machine), index), type, payload,
        on_prepared, session);
}

static void on_machine_ready(void *opaque)
{
    struct session *session = opaque;
    const struct session_config *config = session->config;

    for (unsigned i = 0; i < config->n_directories; i++) {
        bool undo = backends_has_undo(machine_backends(session->machine), i);

        if (undo && config->limits)
            prepare(session, i, "configure", limits_to_json(config->limits));
        if (undo && config->rules)
            prepare(session, i, "safeguard.configure",
                    rules_to_json(config->rules));
        if (undo)
            session_writers_follow(session, i);
        prepare(session, i, "status", NULL);
    }
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

    if (session->state == SESSION_BROKEN) {
        /* The machine has no further events. */
        free_machine(session);
        return;
    }
    forget_machine(session);
    session->state = SESSION_STOPPED;
    session_tell_folders(session);
    if (!error)
        error = g_error_new_literal(
            STEPBACK_ERROR, ERROR_CANCELLED,
            "the session was stopped before it was running");
    reply_send(&session->starter, NULL, error);
    reply_send(&session->stopper, NULL, NULL);
}

static const struct machine_callbacks machine_callbacks = {
    .ready = on_machine_ready,
    .failed = on_machine_failed,
    .stopped = on_machine_stopped,
    .event = on_machine_event,
    .network_missed = on_network_missed,
    .asked = session_asks_take,
    .ask_withdrawn = session_asks_withdraw,
    .folder_event = session_on_folder_event,
    .output = session_on_output,
    .completed = session_on_completed,
    .input_taken = session_on_input_taken,
    .refused = session_on_refused,
    .step_request = session_on_step_request,
    .processes = session_on_processes,
};

/* ---- start and stop ------------------------------------------------------ */

struct session *session_new(const char *log_level,
                            const struct session_callbacks *callbacks,
                            void *opaque)
{
    struct session *session = g_new0(struct session, 1);

    session->log_level = g_strdup(log_level);
    session->undone = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                            NULL);
    session->questions = session_guard_new_list();
    session->approvals = session_approval_new_list();
    session->guest_requests = guest_request_new_list();
    session->guest_hooks = &session_guest_steps_hooks;
    session->guest_records = step_report_list_new();
    session->execs = g_ptr_array_new();
    session->executions = g_ptr_array_new_with_free_func(
        (GDestroyNotify)execution_free);
    session->listeners = g_array_new(FALSE, FALSE,
                                     sizeof(struct session_listener));
    if (callbacks)
        session_listen(session, callbacks, opaque);
    for (unsigned i = 0; i < SESSION_MAX_DIRECTORIES; i++)
        session->folders[i].fd = -1;
    return session;
}

void session_end(struct session *session)
{
    g_autoptr(GError) error = g_error_new_literal(
        STEPBACK_ERROR, ERROR_CANCELLED, "the supervisor is shutting down");

    session->state = SESSION_STOPPED;
    session_patch_abandon(session, error);
    forget_machine(session);
    reply_send(&session->starter, NULL, error);
    reply_send(&session->stopper, NULL, error);
}

void session_free(struct session *session)
{
    if (!session)
        return;
    session_end(session);
    session_config_free(session->reset_config);
    g_clear_error(&session->start_error);
    g_hash_table_unref(session->undone);
    g_ptr_array_unref(session->questions);
    g_ptr_array_unref(session->approvals);
    g_ptr_array_unref(session->guest_requests);
    g_ptr_array_unref(session->guest_records);
    g_ptr_array_unref(session->executions);
    g_ptr_array_unref(session->execs);
    g_array_unref(session->listeners);
    g_free(session->log_level);
    g_free(session);
}

static gboolean open_folders(struct session *session, GError **error)
{
    for (unsigned i = 0; i < session->config->n_directories; i++) {
        const char *path = session->config->directories[i]->path;
        int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0) {
            g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                        "the working folder %s: %s", path, g_strerror(errno));
            return FALSE;
        }
        session->folders[i].fd = fd;
    }
    return TRUE;
}

void session_start(struct session *session, struct session_config *config,
                   reply_done done, void *opaque)
{
    GError *error = NULL;

    if (session->state != SESSION_STOPPED) {
        session_config_free(config);
        reply_post_refusal(done, opaque, ERROR_SESSION_ACTIVE,
                           "a session already exists; stop it first");
        return;
    }
    session->config = config;
    if (open_folders(session, &error))
        session->machine = machine_new(isolation_machine_kind(config), config,
                                       session->log_level, &machine_callbacks,
                                       session, &error);
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

    session->stop_timer = 0;
    machine_stop(session->machine);
    return G_SOURCE_REMOVE;
}

static void cancel_commands(struct session *session)
{
    g_autoptr(GPtrArray) execs = g_ptr_array_copy(session->execs, NULL, NULL);

    for (guint i = 0; i < execs->len; i++)
        exec_cancel(g_ptr_array_index(execs, i), ERROR_CANCELLED);
}

static void leave_commands(struct session *session)
{
    g_autoptr(GPtrArray) execs = g_ptr_array_copy(session->execs, NULL, NULL);

    for (guint i = 0; i < execs->len; i++)
        exec_leave(g_ptr_array_index(execs, i));
}

/* The guest has not ended its command. A held machine changes nothing any more,
 * so the step can be closed; its changes stay and can be undone. */
static gboolean leave_command(gpointer data)
{
    struct session *session = data;

    log_warn(LOG_SESSION,
             "the command did not end in time; stopping the machine with it");
    session->stop_timer = g_timeout_add(STOP_STEP_MS, stop_machine, session);
    machine_hold(session->machine, true);
    leave_commands(session);
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
                           session_state_refusal(SESSION_STOPPED));
        return;
    }
    if (session->state == SESSION_STOPPING) {
        reply_post_refusal(done, opaque, ERROR_BUSY, "the session is stopping");
        return;
    }
    session->stopper = (struct reply){ done, opaque };
    if (session->state == SESSION_RUNNING)
        session_guard_deny_all(session);
    session->state = SESSION_STOPPING;
    if (session->execs->len > 0 || session->writes || session->occupied) {
        session->stop_timer = g_timeout_add(STOP_COMMAND_MS, leave_command,
                                            session);
        cancel_commands(session);
    } else if (session->machine) {
        machine_stop(session->machine);
    } else {
        session->stop_timer = g_idle_add(stop_nothing, session);
    }
}

static void on_reset_stopped(const struct answer *answer, const GError *error,
                             void *opaque)
{
    struct session *session = opaque;
    struct session_config *config = g_steal_pointer(&session->reset_config);
    struct reply reply = session->resetter;

    session->resetting = false;
    session->resetter.done = NULL;
    if (error) {
        session_config_free(config);
        reply_send(&reply, NULL, error);
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
        reply_post_refusal(
            done, opaque, ERROR_NO_SESSION,
            "no session is running; to reset the disk of a stopped machine, "
            "identify it with the fields of session.start");
    } else if (given) {
        reply_post_refusal(done, opaque, ERROR_SESSION_ACTIVE,
                           "a session is running and is reset as it is; omit "
                           "the fields of session.start");
    } else if (session->state != SESSION_RUNNING &&
               session->state != SESSION_BROKEN) {
        reply_post_refusal(done, opaque, ERROR_BUSY,
                           "the session is starting or stopping");
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
