/* SPDX-License-Identifier: Apache-2.0
 *
 * session_writers - see session_writers.h.
 */
#include "agent/session/session_writers.h"

#include "agent/client/engine_request.h"
#include "shim/wire.h"

/* The engine gives a question up after a while and asks the next one: only its
 * newest one is kept. */
static void answer(struct session *session, unsigned index,
                   const gint64 *executions, size_t n)
{
    struct session_question *question = &session->folders[index].question;
    gint64 known[WIRE_FIND_MAX] = { 0 };

    for (guint i = 0; i < MIN(question->pids->len, n); i++) {
        if (executions[i] > 0 && executions[i] <= session->last_exec_id)
            known[i] = executions[i];
    }
    control_link_request(
        backends_link(machine_backends(session->machine), index),
        "writers.name", engine_request_writers(question->pids, known), NULL,
        NULL);
    g_clear_pointer(&question->pids, g_array_unref);
}

void session_writers_follow(struct session *session, unsigned index)
{
    control_link_request(
        backends_link(machine_backends(session->machine), index),
        "writers.follow", NULL, NULL, NULL);
}

void session_writers_ask(struct session *session, unsigned index,
                         json_t *payload)
{
    struct session_question *question = &session->folders[index].question;

    g_clear_pointer(&question->pids, g_array_unref);
    question->pids = writers_from_json(payload, WIRE_FIND_MAX);
    question->request = ++session->last_question;
    if (!guest_channel_find_processes(machine_guest(session->machine),
                                      question->request, question->pids))
        answer(session, index, NULL, 0);
}

void session_on_processes(const struct guest_processes *processes, void *opaque)
{
    struct session *session = opaque;

    for (unsigned i = 0; i < session->config->n_directories; i++) {
        const struct session_question *question = &session->folders[i].question;

        if (question->pids && question->request == processes->request) {
            answer(session, i, processes->executions, processes->n);
            return;
        }
    }
}

void session_writers_clear(struct session *session)
{
    for (unsigned i = 0; i < SESSION_MAX_DIRECTORIES; i++)
        g_clear_pointer(&session->folders[i].question.pids, g_array_unref);
}
