/* SPDX-License-Identifier: Apache-2.0
 *
 * control - see control.h.
 *
 * The control thread runs a main loop; only it touches channels and clients. A
 * pool thread carries out a request, and an idle source delivers its answer;
 * the client's next request waits until then.
 */
#include "interceptor/control/control.h"

#include <errno.h>
#include <glib-unix.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/handover.h"
#include "common/jsonl.h"
#include "common/log.h"
#include "common/message.h"
#include "common/unix_socket.h"
#include "interceptor/control/control_ops.h"
#include "interceptor/control/control_outside.h"
#include "interceptor/engine/engine.h"
#include "interceptor/sys/events.h"

enum {
    MAX_LINE = 16 << 20,
    MAX_QUEUE = 4 << 20,
    MAX_PENDING = 256, /* requests that one client may queue */
    POOL_THREADS = 4,
};

struct control {
    struct ic *ic;
    GMainContext *context;
    GMainLoop *loop;
    GThread *thread;
    GThreadPool *pool;
    GThreadPool *urgent; /* for requests that overtake */
    char *path;          /* of the socket, or NULL */
    int listen_fd;
    GSource *accept_source;
    GPtrArray *clients;
};

struct client {
    int refs;
    struct control *control;
    struct jsonl_channel *channel; /* NULL: disconnected */
    GQueue pending;                /* json_t requests */
    guint n_urgent;                /* running urgent requests */
    bool busy;
    bool ended; /* it sends no more and waits for its answers */
};

struct job {
    struct client *client; /* a reference */
    json_t *request;
    json_t *answer;
    bool urgent;
};

/* ---- clients (control thread) -------------------------------------------- */

static void client_unref(struct client *client)
{
    if (--client->refs > 0)
        return;
    g_queue_clear_full(&client->pending, (GDestroyNotify)json_decref);
    g_free(client);
}

static void start_job(struct client *client, json_t *request, bool urgent)
{
    struct job *job = g_new0(struct job, 1);

    client->refs++;
    job->client = client;
    job->request = request;
    job->urgent = urgent;
    handover_give(job);
    g_thread_pool_push(urgent ? client->control->urgent : client->control->pool,
                       job, NULL);
}

static void start_next(struct client *client)
{
    if (client->busy || g_queue_is_empty(&client->pending))
        return;
    client->busy = true;
    start_job(client, g_queue_pop_head(&client->pending), false);
}

/* A client that shuts down its half of the connection, as a pipe into socat
 * does, gets its answers before it is released. */
static void finish_if_done(struct client *client)
{
    if (client->ended && !client->busy && client->n_urgent == 0 &&
        g_queue_is_empty(&client->pending))
        jsonl_channel_finish(client->channel);
}

static void job_free(gpointer data)
{
    struct job *job = data;

    json_decref(job->request);
    json_decref(job->answer);
    client_unref(job->client);
    g_free(job);
}

static void send_to_all(struct control *control, json_t *message,
                        const struct client *but)
{
    for (guint i = 0; i < control->clients->len; i++) {
        struct client *client = g_ptr_array_index(control->clients, i);

        if (client->channel && client != but)
            jsonl_channel_send(client->channel, json_incref(message), true);
    }
}

/* The requester has the answer; notify the other clients of the change. */
static void tell_others(const struct job *job)
{
    struct control *control = job->client->control;
    json_t *event;

    if (control->clients->len == 0 ||
        (control->clients->len == 1 && job->client->channel))
        return; /* no other client */
    event = control_outside_history_event(job->request, job->answer);
    if (event)
        send_to_all(control, event, job->client);
    json_decref(event);
}

static gboolean job_done(gpointer data)
{
    struct job *job = data;
    struct client *client;

    handover_take(job);
    client = job->client;
    tell_others(job);
    if (job->urgent)
        client->n_urgent--;
    else
        client->busy = false;
    if (client->channel) {
        jsonl_channel_send(client->channel, g_steal_pointer(&job->answer),
                           false);
        start_next(client);
        finish_if_done(client);
    }
    return G_SOURCE_REMOVE;
}

static void run_job(gpointer data, gpointer user_data)
{
    struct control *control = user_data;
    struct job *job = data;
    GSource *source = g_idle_source_new();

    handover_take(job);
    ic_set_writer(IC_WRITER_HOST); /* the pool may lend its threads */
    job->answer = control_ops_carry_out(control->ic, job->request);
    g_source_set_callback(source, job_done, job, job_free);
    handover_give(job);
    g_source_attach(source, control->context);
    g_source_unref(source);
    handover_give(control);
}

static bool is_urgent(json_t *request)
{
    const char *type = json_string_value(json_object_get(request, "type"));

    /* A step.close waits for both. */
    return g_strcmp0(type, "safeguard.confirm") == 0 ||
           g_strcmp0(type, "writers.name") == 0;
}

static void on_line(struct jsonl_channel *channel, enum jsonl_status status,
                    json_t *message, const char *error, void *opaque)
{
    struct client *client = opaque;
    const char *id;

    if (status != JSONL_OK) {
        jsonl_channel_send(channel,
                           message_error(NULL,
                                         status == JSONL_TOO_LONG
                                             ? ERROR_MESSAGE_TOO_LARGE
                                             : ERROR_MALFORMED_JSON,
                                         error, NULL),
                           false);
        return;
    }
    if (g_queue_get_length(&client->pending) + client->n_urgent >=
        MAX_PENDING) {
        id = json_string_value(json_object_get(message, "request_id"));
        jsonl_channel_send(channel,
                           message_error(id, ERROR_BUSY,
                                         "too many requests are waiting", NULL),
                           true);
        return;
    }
    if (is_urgent(message)) {
        client->n_urgent++;
        start_job(client, json_incref(message), true);
        return;
    }
    g_queue_push_tail(&client->pending, json_incref(message));
    start_next(client);
}

static void client_drop(struct client *client)
{
    jsonl_channel_free(g_steal_pointer(&client->channel));
    client_unref(client);
}

static void on_closed(struct jsonl_channel *channel, void *opaque)
{
    struct client *client = opaque;

    g_ptr_array_remove_fast(client->control->clients, client);
    client_drop(client);
}

static void on_ended(struct jsonl_channel *channel, void *opaque)
{
    struct client *client = opaque;

    client->ended = true;
    finish_if_done(client);
}

static const struct jsonl_callbacks callbacks = {
    .line = on_line,
    .closed = on_closed,
    .ended = on_ended,
};

/* ---- events -------------------------------------------------------------- */

struct broadcast {
    struct control *control;
    json_t *message;
};

static gboolean broadcast(gpointer data)
{
    struct broadcast *b = data;

    handover_take(b);
    send_to_all(b->control, b->message, NULL);
    return G_SOURCE_REMOVE;
}

static void broadcast_free(gpointer data)
{
    struct broadcast *b = data;

    json_decref(b->message);
    g_free(b);
}

/* Always deliver through the loop: the sender may hold the engine's locks. */
static void send_event(json_t *message, void *opaque)
{
    struct control *control = opaque;
    struct broadcast *b = g_new(struct broadcast, 1);
    GSource *source = g_idle_source_new();

    *b = (struct broadcast){ control, message };
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, broadcast, b, broadcast_free);
    handover_give(b);
    g_source_attach(source, control->context);
    g_source_unref(source);
}

static void client_add(struct control *control, int fd)
{
    struct client *client = g_new0(struct client, 1);

    client->refs = 1;
    client->control = control;
    g_queue_init(&client->pending);
    client->channel = jsonl_channel_new(fd, fd, MAX_LINE, MAX_QUEUE, &callbacks,
                                        client);
    g_ptr_array_add(control->clients, client);
    if (control->clients->len == 1)
        events_set_sink(control->ic->events, send_event, control);
}

static gboolean on_connect(int fd, GIOCondition condition, gpointer data)
{
    struct control *control = data;
    int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

    if (peer >= 0)
        client_add(control, peer);
    else if (errno != EINTR && errno != EAGAIN && errno != ECONNABORTED) {
        log_error(LOG_CONTROL, "control socket: %s", g_strerror(errno));
        g_usleep(100000); /* no fds, for example: do not spin */
    }
    return G_SOURCE_CONTINUE;
}

/* ---- the thread ---------------------------------------------------------- */

static gpointer run_thread(gpointer data)
{
    struct control *control = data;

    g_main_context_push_thread_default(control->context);
    g_main_loop_run(control->loop);
    g_main_context_pop_thread_default(control->context);
    return NULL;
}

static struct control *control_get(struct ic *ic)
{
    struct control *control = ic->control;

    if (control)
        return control;
    control = ic->control = g_new0(struct control, 1);
    ic->control_free = control_free;
    control->ic = ic;
    control->listen_fd = -1;
    control->clients = g_ptr_array_new();
    control->context = g_main_context_new();
    control->loop = g_main_loop_new(control->context, FALSE);
    control->pool = g_thread_pool_new(run_job, control, POOL_THREADS, FALSE,
                                      NULL);
    control->urgent = g_thread_pool_new(run_job, control, 1, FALSE, NULL);
    control->thread = g_thread_new("control", run_thread, control);
    return control;
}

static gboolean quit_loop(gpointer data)
{
    struct control *control = data;

    handover_take(control);
    g_main_loop_quit(control->loop);
    return G_SOURCE_REMOVE;
}

static void invoke(struct control *control, GSourceFunc func, gpointer data,
                   GDestroyNotify destroy)
{
    g_main_context_invoke_full(control->context, G_PRIORITY_DEFAULT, func, data,
                               destroy);
}

void control_free(struct control *control)
{
    GSource *quit;

    if (!control)
        return;
    events_set_sink(control->ic->events, NULL, NULL);
    quit = g_idle_source_new();
    g_source_set_callback(quit, quit_loop, control, NULL);
    handover_give(control);
    g_source_attach(quit, control->context);
    g_source_unref(quit);
    g_thread_join(control->thread);
    /* The thread may have accepted a client just before it ended. */
    events_set_sink(control->ic->events, NULL, NULL);
    g_thread_pool_free(control->urgent, FALSE, TRUE);
    g_thread_pool_free(control->pool, FALSE, TRUE);
    handover_take(control);
    if (control->accept_source) {
        g_source_destroy(control->accept_source);
        g_source_unref(control->accept_source);
    }
    for (guint i = 0; i < control->clients->len; i++)
        client_drop(g_ptr_array_index(control->clients, i));
    g_ptr_array_unref(control->clients);
    g_main_loop_unref(control->loop);
    g_main_context_unref(control->context); /* frees jobs without an answer */
    fd_close(&control->listen_fd);
    if (control->path)
        unix_socket_remove(control->path);
    g_free(control->path);
    g_free(control);
}

gboolean ic_control_listen(struct ic *ic, const char *path, GError **error)
{
    int fd = unix_socket_listen(path, error);

    if (fd < 0)
        return FALSE;
    control_get(ic)->path = g_strdup(path);
    ic_control_accept(ic, fd);
    return TRUE;
}

void ic_control_accept(struct ic *ic, int fd)
{
    struct control *control = control_get(ic);

    control->listen_fd = fd;
    control->accept_source = g_unix_fd_source_new(fd, G_IO_IN);
    g_source_set_callback(control->accept_source, G_SOURCE_FUNC(on_connect),
                          control, NULL);
    g_source_attach(control->accept_source, control->context);
}

struct attachment {
    struct control *control;
    int fd;
};

static gboolean attach(gpointer data)
{
    struct attachment *attachment = data;

    handover_take(attachment);
    client_add(attachment->control, attachment->fd);
    return G_SOURCE_REMOVE;
}

gboolean ic_control_attach(struct ic *ic, int fd, GError **error)
{
    struct attachment *attachment;
    int type;
    socklen_t len = sizeof(type);

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
        type != SOCK_STREAM) {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "fd %d is not a connected stream socket", fd);
        fd_close(&fd);
        return FALSE;
    }
    attachment = g_new(struct attachment, 1);
    attachment->control = control_get(ic);
    attachment->fd = fd;
    handover_give(attachment);
    invoke(attachment->control, attach, attachment, g_free);
    return TRUE;
}
