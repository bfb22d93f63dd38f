/* SPDX-License-Identifier: Apache-2.0
 *
 * session_core - see session_core.h.
 */
#include "agent/session/session_core.h"

#include <string.h>

#include "agent/session/exec.h"
#include "agent/session/session.h"
#include "common/errors.h"
#include "common/log.h"

static const char *const state_names[] = {
    [SESSION_STOPPED] = "stopped", [SESSION_STARTING] = "starting",
    [SESSION_RUNNING] = "running", [SESSION_STOPPING] = "stopping",
    [SESSION_BROKEN] = "error",
};

static const char *const state_refusals[] = {
    [SESSION_STOPPED] = "no session is running; session.start starts one",
    [SESSION_STARTING] =
        "the session is still starting; wait for the answer to session.start",
    [SESSION_STOPPING] = "the session is stopping; once it has stopped, "
                         "session.start starts another",
    [SESSION_BROKEN] = "the session has lost its machine; session.stop ends "
                       "it, and session.start starts another",
};

const char *session_state_name(enum session_state state)
{
    return state_names[state];
}

const char *session_state_refusal(enum session_state state)
{
    return state_refusals[state];
}

gboolean session_check_running(struct session *session, GError **error)
{
    if (session->state == SESSION_RUNNING)
        return TRUE;
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_NO_SESSION,
                        session_state_refusal(session->state));
    return FALSE;
}

void session_listen(struct session *session,
                    const struct session_callbacks *callbacks, void *opaque)
{
    struct session_listener listener = { callbacks, opaque };

    g_array_append_val(session->listeners, listener);
}

void session_unlisten(struct session *session,
                      const struct session_callbacks *callbacks, void *opaque)
{
    for (guint i = 0; i < session->listeners->len; i++) {
        struct session_listener *listener = &g_array_index(
            session->listeners, struct session_listener, i);

        if (listener->callbacks == callbacks && listener->opaque == opaque) {
            g_array_remove_index(session->listeners, i);
            return;
        }
    }
}

static bool is_of_network(const struct session_event *event)
{
    return event->type == SESSION_EVENT_WARNING && event->warning->code &&
           g_str_has_prefix(event->warning->code, "network_");
}

void session_hear_warning(struct session *session)
{
    session->warning_heard = true;
}

/* A listener may remove itself in its callback, so the list is copied. */
bool session_send(struct session *session, const struct session_event *event)
{
    g_autoptr(GArray) listeners = g_array_copy(session->listeners);
    bool sent = true;

    session->warning_heard = false;
    for (guint i = 0; i < listeners->len; i++) {
        const struct session_listener *to = &g_array_index(
            listeners, struct session_listener, i);

        if (to->callbacks->event && !to->callbacks->event(event, to->opaque) &&
            i == 0)
            sent = false;
    }
    if (is_of_network(event) && !session->warning_heard)
        session->network_unheard = true;
    session->counters.events++;
    session->counters.dropped_events += !sent;
    return sent;
}

void session_warn(struct session *session, unsigned index,
                  struct folder_warning *warning)
{
    const struct session_event event = { .type = SESSION_EVENT_WARNING,
                                         .warning = warning };
    struct session_folder *folder = &session->folders[index];

    if (!folder->warnings)
        folder->warnings = g_ptr_array_new_with_free_func(
            (GDestroyNotify)folder_warning_free);
    if (folder->warnings->len == SESSION_WARNINGS)
        g_ptr_array_remove_index(folder->warnings, 0);
    g_ptr_array_add(folder->warnings, warning);
    session_send(session, &event);
}

void session_warn_text(struct session *session, const char *code,
                       const char *text)
{
    struct folder_warning *warning = g_new0(struct folder_warning, 1);

    warning->code = g_strdup(code);
    warning->message = g_utf8_make_valid(text, -1);
    log_warn(LOG_SESSION, "%s", warning->message);
    session_warn(session, 0, warning);
}

void session_tell_folders(struct session *session)
{
    for (guint i = 0; i < session->listeners->len; i++) {
        const struct session_listener *to = &g_array_index(
            session->listeners, struct session_listener, i);

        if (to->callbacks->folders)
            to->callbacks->folders(to->opaque);
    }
}

void session_tell_exec(struct session *session, const struct exec_note *note)
{
    for (guint i = 0; i < session->listeners->len; i++) {
        const struct session_listener *to = &g_array_index(
            session->listeners, struct session_listener, i);

        if (to->callbacks->exec)
            to->callbacks->exec(note, to->opaque);
    }
}

void session_tell_policy(struct session *session)
{
    for (guint i = 0; i < session->listeners->len; i++) {
        const struct session_listener *to = &g_array_index(
            session->listeners, struct session_listener, i);

        if (to->callbacks->policy)
            to->callbacks->policy(&session->config->network, to->opaque);
    }
}

void session_tell_missed(struct session *session, guint64 count)
{
    for (guint i = 0; i < session->listeners->len; i++) {
        const struct session_listener *to = &g_array_index(
            session->listeners, struct session_listener, i);

        if (to->callbacks->network_missed)
            to->callbacks->network_missed(count, to->opaque);
    }
}

void session_lose_machine(struct session *session, const GError *error)
{
    const struct session_event event = { .type = SESSION_EVENT_ERROR,
                                         .error = error };

    if (session->state == SESSION_RUNNING)
        session->state = SESSION_BROKEN;
    session_send(session, &event);
    session_fail_commands(session, error);
    machine_stop(session->machine);
}

void session_fail_commands(struct session *session, const GError *error)
{
    while (session->execs->len > 0)
        exec_fail(g_ptr_array_index(session->execs, 0), error);
}

void session_command_over(struct session *session)
{
    if (session->next_turn && session->state == SESSION_RUNNING)
        session->next_turn(session);
    if (session->state != SESSION_STOPPING || !session->stop_timer ||
        session->execs->len > 0 || session->writes || session->occupied)
        return;
    g_clear_handle_id(&session->stop_timer, g_source_remove);
    machine_stop(session->machine);
}

void session_get_logs(struct session *session, struct step_logs *ret_logs)
{
    const struct session_config *config = session->config;
    struct backends *backends = machine_backends(session->machine);

    ret_logs->count = 0;
    for (unsigned i = 0; i < config->n_directories; i++) {
        if (!backends_has_undo(backends, i))
            continue;
        ret_logs->links[ret_logs->count] = backends_link(backends, i);
        ret_logs->labels[ret_logs->count++] = config->directories[i]->label;
    }
}

gboolean session_check_idle(struct session *session, GError **error)
{
    if (!session_check_running(session, error))
        return FALSE;
    if (session->exec)
        g_set_error_literal(
            error, STEPBACK_ERROR, ERROR_STEP_ACTIVE,
            "a command is running; cancel it or wait until it ends");
    else if (session->occupied)
        g_set_error(error, STEPBACK_ERROR, ERROR_BUSY,
                    "%s; wait until that ends", session->occupied);
    else
        return TRUE;
    return FALSE;
}
