/* SPDX-License-Identifier: Apache-2.0
 *
 * session_guard - see session.h: decisions that a safeguard asks for.
 *
 * The machine is paused while a decision is pending. Without an answer the
 * daemon decides by itself after its timeout, and it rolls a denied step back
 * before it reports the denial. Then the command is cancelled, and only after
 * that the machine resumes. The guest may not have read the cancel yet, but
 * every further operation of its processes in that step fails in the denying
 * daemon, and their changes in other folders are rolled back with the step
 * there.
 */
#include "agent/session/session_guard.h"

#include <string.h>

#include "agent/client/engine_request.h"
#include "agent/session/exec.h"
#include "agent/session/session.h"
#include "agent/session/session_core.h"
#include "common/errors.h"
#include "common/log.h"

/* A pending decision. */
struct question {
    char *id;        /* the session's id: two daemons may use the same one */
    char *daemon_id; /* the daemon's id */
    unsigned index;  /* of the folder */
    gint64 step_id;  /* not always the command's: file writes have steps too */
};

static void question_free(gpointer data)
{
    struct question *question = data;

    g_free(question->id);
    g_free(question->daemon_id);
    g_free(question);
}

GPtrArray *session_guard_new_list(void)
{
    return g_ptr_array_new_with_free_func(question_free);
}

static struct question *find(const struct session *session, const char *id)
{
    for (guint i = 0; i < session->questions->len; i++) {
        struct question *question = g_ptr_array_index(session->questions, i);

        if (strcmp(question->id, id) == 0)
            return question;
    }
    return NULL;
}

/* A pending decision keeps its id when a folder is added. */
char *session_guard_make_id(const struct session *session, unsigned index,
                            const char *daemon_id)
{
    for (guint i = 0; i < session->questions->len; i++) {
        const struct question *question = g_ptr_array_index(session->questions,
                                                            i);

        if (question->index == index &&
            strcmp(question->daemon_id, daemon_id) == 0)
            return g_strdup(question->id);
    }
    return session->config->n_directories == 1
               ? g_strdup(daemon_id)
               : g_strdup_printf("%s/%u", daemon_id, index);
}

/* Return whether a decision concerns the running command. */
static bool is_of_command(const struct session *session, gint64 step_id)
{
    return session->exec && exec_has_step(session->exec, step_id);
}

bool session_guard_is_pending(const struct session *session, const char *id)
{
    return find(session, id) != NULL;
}

void session_guard_foreach(const struct session *session,
                           void (*call)(const char *id, unsigned index,
                                        gint64 step_id, void *opaque),
                           void *opaque)
{
    for (guint i = 0; i < session->questions->len; i++) {
        const struct question *question = g_ptr_array_index(session->questions,
                                                            i);

        call(question->id, question->index, question->step_id, opaque);
    }
}

/* ---- holding the machine ------------------------------------------------- */

static void hold(struct session *session, bool hold)
{
    machine_hold(session->machine, hold);
    for (guint i = 0; i < session->execs->len; i++)
        exec_hold(g_ptr_array_index(session->execs, i), hold);
}

static void on_triggered(struct session *session, unsigned index,
                         const char *id,
                         const struct safeguard_event *safeguard)
{
    struct question *question = g_new0(struct question, 1);

    question->id = g_strdup(id);
    question->daemon_id = g_strdup(safeguard->id);
    question->index = index;
    question->step_id = safeguard->step_id;
    g_ptr_array_add(session->questions, question);
    if (session->questions->len == 1)
        hold(session, true);
    log_info(LOG_SAFEGUARD, "%s: the machine is paused until the decision", id);
    /* The command was cancelled in the meantime: the machine must not resume
     * for it. */
    if (is_of_command(session, question->step_id) &&
        exec_is_stopping(session->exec))
        session_guard_deny_command(session);
}

/* Return whether a denial is a cancel. Denying the step of a cancelled command
 * looks like a user's answer to the daemon. */
static bool is_cancel(const struct session *session, bool of_command,
                      const struct safeguard_event *safeguard)
{
    bool stopping = session->state == SESSION_STOPPING ||
                    (of_command && exec_is_stopping(session->exec));

    return stopping && safeguard->denied && safeguard->confirmed;
}

static void on_decided(struct session *session, unsigned index, const char *id,
                       const struct safeguard_event *safeguard,
                       const char **ret_reason)
{
    struct question *question = find(session, id);
    bool of_command = is_of_command(session, safeguard->step_id);

    if (question)
        g_ptr_array_remove(session->questions, question);
    if (is_cancel(session, of_command, safeguard))
        *ret_reason = "aborted";
    if (safeguard->denied && of_command) {
        exec_deny(session->exec,
                  backends_link(machine_backends(session->machine), index));
        session_guard_deny_command(session);
    }
    if (question && session->questions->len == 0)
        hold(session, false);
}

char *session_guard_take_event(struct session *session, unsigned index,
                               struct session_event *event)
{
    bool triggered = strcmp(event->name, "event.safeguard_triggered") == 0;
    bool decided = strcmp(event->name, "event.safeguard_decided") == 0;
    struct safeguard_event safeguard;
    char *id;

    if ((!triggered && !decided) || session->state == SESSION_STOPPED ||
        !safeguard_from_json(event->payload, &safeguard))
        return NULL;
    id = session_guard_make_id(session, index, safeguard.id);
    event->safeguard_id = id;
    if (triggered)
        on_triggered(session, index, id, &safeguard);
    else
        on_decided(session, index, id, &safeguard, &event->reason);
    return id;
}

/* ---- answers ------------------------------------------------------------- */

static void send_answer(struct session *session,
                        const struct question *question, bool allow,
                        control_link_done done, void *opaque)
{
    control_link_request(
        backends_link(machine_backends(session->machine), question->index),
        "safeguard.confirm", engine_request_confirm(question->daemon_id, allow),
        done, opaque);
}

void session_guard_deny_all(struct session *session)
{
    for (guint i = 0; i < session->questions->len; i++)
        send_answer(session, g_ptr_array_index(session->questions, i), false,
                    NULL, NULL);
}

void session_guard_deny_command(struct session *session)
{
    for (guint i = 0; i < session->questions->len; i++) {
        const struct question *question = g_ptr_array_index(session->questions,
                                                            i);

        if (is_of_command(session, question->step_id))
            send_answer(session, question, false, NULL, NULL);
    }
}

static void on_confirmed(json_t *payload, const GError *error, json_t *data,
                         void *opaque)
{
    struct reply *reply = opaque;

    const struct answer answer = { .relayed = payload };

    reply_send(reply, &answer, error);
    g_free(reply);
}

void session_guard_confirm(struct session *session, const char *id, bool allow,
                           reply_done done, void *opaque)
{
    struct question *question = find(session, id);
    GError *error = NULL;
    struct reply *reply;

    if (session_check_running(session, &error) && !question)
        error = g_error_new_literal(STEPBACK_ERROR, ERROR_UNKNOWN_SAFEGUARD,
                                    "no decision with this id is pending");
    if (error) {
        reply_post_error(done, opaque, error);
        return;
    }
    reply = g_new(struct reply, 1);
    *reply = (struct reply){ done, opaque };
    send_answer(session, question, allow, on_confirmed, reply);
}
