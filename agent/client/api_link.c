/* SPDX-License-Identifier: Apache-2.0
 *
 * api_link - see api_link.h.
 */
#include "agent/client/api_link.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "common/errors.h"
#include "common/unix_socket.h"

#define PEER "the sandbox's supervisor"

enum { CONNECT_ATTEMPTS = 100, CONNECT_PAUSE_MS = 20 };

/* Return a connected socket or -errno. */
static int connect_to(const char *path)
{
    int fd = unix_socket_connect(path, SOCK_NONBLOCK);

    for (int i = 0; fd == -EAGAIN && i < CONNECT_ATTEMPTS; i++) {
        g_usleep(CONNECT_PAUSE_MS * 1000);
        fd = unix_socket_connect(path, SOCK_NONBLOCK);
    }
    return fd;
}

struct control_link *
api_link_connect(const char *path,
                 const struct control_link_callbacks *callbacks, void *opaque,
                 GError **error)
{
    int fd = connect_to(path);
    struct control_link *link;

    if (fd < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_BACKEND_FAILED,
                    PEER " does not answer at %s: %s", path, g_strerror(-fd));
        return NULL;
    }
    link = control_link_new(fd, callbacks, opaque);
    control_link_name_peer(link, PEER);
    return link;
}

/* ---- one request --------------------------------------------------------- */

/* Shared by the asker and the answer, which may come after a timeout. */
struct question {
    int refs;
    bool answered, expired;
    json_t *payload;
    GError *error;
};

static void question_unref(struct question *question)
{
    if (--question->refs > 0)
        return;
    json_decref(question->payload);
    g_clear_error(&question->error);
    g_free(question);
}

static void on_answer(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct question *question = opaque;

    question->answered = true;
    question->payload = json_incref(payload);
    question->error = error ? g_error_copy(error) : NULL;
    question_unref(question);
}

static gboolean on_expired(gpointer data)
{
    struct question *question = data;

    question->expired = true;
    return G_SOURCE_CONTINUE;
}

json_t *api_link_ask(struct control_link *link, const char *type,
                     json_t *payload, unsigned timeout_ms, GError **error)
{
    struct question *question = g_new0(struct question, 1);
    guint timer = g_timeout_add(timeout_ms, on_expired, question);
    json_t *answer;

    question->refs = 2;
    control_link_request(link, type, payload, on_answer, question);
    while (!question->answered && !question->expired)
        g_main_context_iteration(NULL, TRUE);
    g_source_remove(timer);
    answer = g_steal_pointer(&question->payload);
    if (question->error)
        g_propagate_error(error, g_steal_pointer(&question->error));
    else if (!question->answered)
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_TIMEOUT,
                            PEER " does not answer");
    question_unref(question);
    return answer;
}

json_t *api_link_ask_once(const char *path, const char *type, json_t *payload,
                          unsigned timeout_ms, GError **error)
{
    static const struct control_link_callbacks callbacks = { 0 };
    struct control_link *link = api_link_connect(path, &callbacks, NULL, error);
    json_t *answer;

    if (!link) {
        json_decref(payload);
        return NULL;
    }
    answer = api_link_ask(link, type, payload, timeout_ms, error);
    control_link_free(link);
    return answer;
}
