/* SPDX-License-Identifier: Apache-2.0
 *
 * session_guard - see session.h: decisions that a safeguard asks for.
 *
 * While one is pending the machine stands still. The daemon decides by itself
 * when nobody answers in time, and it takes a denied step back before it says
 * so; then the command is told to end, and only then does the machine go on.
 * The guest may have read nothing of that yet, but all that its processes do
 * in that step fails in the daemon that has denied it, and what they do in
 * other folders is taken back with the step there.
 */
#include "agent/session/session_guard.h"

#include <string.h>

#include "agent/client/step_merge.h"
#include "agent/session/exec.h"
#include "agent/session/session.h"
#include "agent/session/session_core.h"
#include "common/errors.h"
#include "common/log.h"

/* A decision that is pending. */
struct question {
    char *id;        /* ours: those of two folders' daemons may be the same */
    char *daemon_id; /* the daemon's */
    unsigned index;  /* of the folder */
    gint64 step_id;  /* not always the command's: files are written, too */
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

static struct question *find(struct session *session, const char *id)
{
    for (guint i = 0; i < session->questions->len; i++) {
        struct question *question = g_ptr_array_index(session->questions, i);

        if (strcmp(question->id, id) == 0)
            return question;
    }
    return NULL;
}

char *session_guard_make_id(const struct session *session, unsigned index,
                            const char *daemon_id)
{
    return session->config->n_directories == 1
               ? g_strdup(daemon_id)
               : g_strdup_printf("%s/%u", daemon_id, index);
}

/* Whether a question or a decision is about the command. */
static bool is_of_command(const struct session *session, gint64 step_id)
{
    return session->exec && exec_step_id(session->exec) == step_id;
}

/* ---- the machine stands still -------------------------------------------- */

static void hold(struct session *session, bool hold)
{
    machine_hold(session->machine, hold);
    if (session->exec)
        exec_hold(session->exec, hold);
}

static void on_triggered(struct session *session, unsigned index,
                         const char *daemon_id, json_t *payload)
{
    struct question *question = g_new0(struct question, 1);

    question->id = session_guard_make_id(session, index, daemon_id);
    question->daemon_id = g_strdup(daemon_id);
    question->index = index;
    question->step_id = json_integer_value(json_object_get(payload, "step_id"));
    json_object_set_new(payload, "safeguard_id", json_string(question->id));
    g_ptr_array_add(session->questions, question);
    if (session->questions->len == 1)
        hold(session, true);
    log_info(LOG_SAFEGUARD, "%s: the machine stands still until it is decided",
             question->id);
    /* Somebody has cancelled the command, and nothing may go on for it. */
    if (is_of_command(session, question->step_id) &&
        exec_is_stopping(session->exec))
        session_guard_deny_command(session);
}

/* To the daemon the denial of what is stopped anyway is somebody's answer. */
static void correct_reason(const struct session *session, bool of_command,
                           json_t *payload)
{
    json_t *reason = json_object_get(payload, "reason");
    bool stopping = session->state == SESSION_STOPPING ||
                    (of_command && exec_is_stopping(session->exec));

    if (stopping && g_strcmp0(json_string_value(reason), "confirmed") == 0)
        json_object_set_new(payload, "reason", json_string("aborted"));
}

static void on_decided(struct session *session, unsigned index,
                       const char *daemon_id, json_t *payload)
{
    g_autofree char *id = session_guard_make_id(session, index, daemon_id);
    struct question *question = find(session, id);
    const char *action = json_string_value(json_object_get(payload, "action"));
    bool denied = g_strcmp0(action, "deny") == 0;
    bool of_command = is_of_command(
        session, json_integer_value(json_object_get(payload, "step_id")));

    json_object_set_new(payload, "safeguard_id", json_string(id));
    if (question)
        g_ptr_array_remove(session->questions, question);
    if (denied)
        correct_reason(session, of_command, payload);
    if (denied && of_command) {
        exec_deny(session->exec,
                  backends_link(machine_backends(session->machine), index));
        session_guard_deny_command(session);
    }
    if (question && session->questions->len == 0)
        hold(session, false);
}

void session_guard_take_event(struct session *session, unsigned index,
                              const char *type, json_t *payload)
{
    const char *id = json_string_value(
        json_object_get(payload, "safeguard_id"));

    if (!id || session->state == SESSION_STOPPED)
        return;
    if (strcmp(type, "event.safeguard_triggered") == 0)
        on_triggered(session, index, id, payload);
    else if (strcmp(type, "event.safeguard_decided") == 0)
        on_decided(session, index, id, payload);
}

/* ---- answers ------------------------------------------------------------- */

static void send_answer(struct session *session,
                        const struct question *question, bool allow,
                        control_link_done done, void *opaque)
{
    control_link_request(
        backends_link(machine_backends(session->machine), question->index),
        "safeguard.confirm",
        json_pack("{s:s, s:s}", "safeguard_id", question->daemon_id, "action",
                  allow ? "allow" : "deny"),
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
                                    "no decision of this id is pending");
    if (error) {
        reply_post_error(done, opaque, error);
        return;
    }
    reply = g_new(struct reply, 1);
    *reply = (struct reply){ done, opaque };
    send_answer(session, question, allow, on_confirmed, reply);
}
