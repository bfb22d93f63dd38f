/* SPDX-License-Identifier: Apache-2.0
 *
 * session_writers - see session_writers.h.
 */
#include "agent/session/session_writers.h"

#include "shim/wire.h"

/* The engine gives a question up after a while and asks the next one: only its
 * newest one is kept. */
static void answer(struct session *session, unsigned index,
                   const gint64 *executions, size_t n)
{
    struct session_question *question = &session->folders[index].question;
    json_t *writers = json_array();

    for (guint i = 0; i < question->pids->len; i++) {
        gint64 execution = i < n ? executions[i] : 0;

        if (execution < 0 || execution > session->last_exec_id)
            execution = 0;
        json_array_append_new(
            writers,
            json_pack("[I, I]",
                      (json_int_t)g_array_index(question->pids, guint32, i),
                      (json_int_t)execution));
    }
    g_clear_pointer(&question->pids, g_array_unref);
    control_link_request(
        backends_link(machine_backends(session->machine), index),
        "writers.name", json_pack("{s:o}", "writers", writers), NULL, NULL);
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
    json_t *pid;
    size_t i;

    g_clear_pointer(&question->pids, g_array_unref);
    question->pids = g_array_new(FALSE, FALSE, sizeof(guint32));
    json_array_foreach(json_object_get(payload, "pids"), i, pid)
    {
        const guint32 number = (guint32)json_integer_value(pid);

        if (question->pids->len < WIRE_FIND_MAX)
            g_array_append_val(question->pids, number);
    }
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
