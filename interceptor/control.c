/* SPDX-License-Identifier: Apache-2.0
 *
 * control - see control.h.
 *
 * The control thread runs a main loop: it alone touches channels and clients.
 * A request is carried out by a pool thread and its answer brought back by an
 * idle source; a client's next request waits until then.
 */
#include "interceptor/control.h"

#include <errno.h>
#include <glib-unix.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/fd.h"
#include "common/jsonl.h"
#include "common/log.h"
#include "common/message.h"
#include "common/unix_socket.h"
#include "interceptor/engine.h"
#include "interceptor/report.h"

enum {
    MAX_LINE = 16 << 20,
    MAX_QUEUE = 4 << 20,
    MAX_PENDING = 256, /* requests that one client may have waiting */
    POOL_THREADS = 4,
    QUIET_MS = 100,
    QUIET_MAX_MS = 2000,
    QUIET_LIMIT_MS = 60000,
    HISTORY_LIMIT = 50,
};

struct control {
    struct ic *ic;
    GMainContext *context;
    GMainLoop *loop;
    GThread *thread;
    GThreadPool *pool;
    char *path; /* of the socket, or NULL */
    int listen_fd;
    GSource *accept_source;
    GPtrArray *clients;
    json_t *recovery; /* event for the first client, or NULL */
};

struct client {
    int refs;
    struct control *control;
    struct jsonl_channel *channel; /* NULL: gone */
    GQueue pending;                /* json_t requests */
    bool busy;
};

struct job {
    struct client *client; /* a reference */
    json_t *request;
    json_t *answer;
};

/* ---- requests (pool threads) --------------------------------------------- */

static json_t *handle_step_open(struct ic *ic, json_t *payload, GError **error)
{
    const char *type_name = "command", *command = NULL;
    enum ic_step_type type;
    gint64 id;

    if (!message_get_int(payload, "step_id", 1, G_MAXINT64, &id, error) ||
        !message_get_optional_string(payload, "type", &type_name, error) ||
        !message_get_optional_string(payload, "command", &command, error))
        return NULL;
    if (!step_type_parse(type_name, &type) || type == IC_STEP_AMBIENT) {
        g_set_error_literal(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                            "the field 'type' must be command or api");
        return NULL;
    }
    if (!ic_step_open(ic, id, type, command, error))
        return NULL;
    return json_object();
}

static json_t *handle_step_close(struct ic *ic, json_t *payload, GError **error)
{
    gint64 id, exit_code = -1, quiet = QUIET_MS, max = QUIET_MAX_MS;
    struct ic_step_info *info;
    json_t *report;

    if (!message_get_int(payload, "step_id", 1, G_MAXINT64, &id, error) ||
        !message_get_optional_int(payload, "exit_code", -1, 255, &exit_code,
                                  error) ||
        !message_get_optional_int(payload, "quiet_ms", 0, QUIET_LIMIT_MS,
                                  &quiet, error) ||
        !message_get_optional_int(payload, "max_ms", 0, QUIET_LIMIT_MS, &max,
                                  error) ||
        !ic_step_close(ic, id, (int)exit_code, (unsigned)quiet, (unsigned)max,
                       &info, error))
        return NULL;
    report = report_to_json(info);
    ic_step_info_free(info);
    return report;
}

static json_t *handle_step_abort(struct ic *ic, json_t *payload, GError **error)
{
    gint64 id;

    if (!message_get_int(payload, "step_id", 1, G_MAXINT64, &id, error) ||
        !ic_step_abort(ic, id, error))
        return NULL;
    return json_object();
}

static json_t *reports(GPtrArray *infos)
{
    json_t *list = json_array();

    for (guint i = 0; i < infos->len; i++)
        json_array_append_new(list,
                              report_to_json(g_ptr_array_index(infos, i)));
    return list;
}

static json_t *handle_rollback(struct ic *ic, json_t *payload, GError **error)
{
    g_autoptr(GPtrArray) infos = NULL;
    gboolean force = FALSE;
    gint64 steps = 1;

    if (!message_get_optional_int(payload, "steps", 1, 1000000, &steps,
                                  error) ||
        !message_get_optional_bool(payload, "force", &force, error) ||
        !ic_rollback(ic, (unsigned)steps, force, &infos, error))
        return NULL;
    return json_pack("{s:o}", "steps", reports(infos));
}

static json_t *handle_history(struct ic *ic, json_t *payload, GError **error)
{
    g_autoptr(GPtrArray) infos = NULL;
    gint64 limit = HISTORY_LIMIT;

    if (!message_get_optional_int(payload, "limit", 1, 1000000, &limit, error))
        return NULL;
    infos = ic_history(ic, (unsigned)limit, error);
    if (!infos)
        return NULL;
    return json_pack("{s:o, s:I}", "steps", reports(infos), "last_step_id",
                     (json_int_t)ic_last_step_id(ic));
}

static json_t *path_value(const char *path)
{
    return json_string(path ? path : "");
}

static json_t *handle_status(struct ic *ic, json_t *payload, GError **error)
{
    int64_t open_step = 0;
    json_t *status;

    pthread_rwlock_rdlock(&ic->gate);
    pthread_mutex_lock(&ic->names);
    if (ic->wal.step)
        open_step = ic->wal.step->id;
    pthread_mutex_unlock(&ic->names);
    pthread_rwlock_unlock(&ic->gate);
    status = json_pack("{s:I, s:i, s:b, s:b}", "last_step_id",
                       (json_int_t)ic_last_step_id(ic), "pid", (int)getpid(),
                       "undo", ic->log != NULL, "read_only", ic->read_only);
    json_object_set_new(status, "share", path_value(ic->share));
    json_object_set_new(status, "undo_dir",
                        ic->undo_dir ? path_value(ic->undo_dir) : json_null());
    json_object_set_new(status, "open_step",
                        open_step ? json_integer(open_step) : json_null());
    return status;
}

static const struct {
    const char *type;
    json_t *(*handle)(struct ic *ic, json_t *payload, GError **error);
} operations[] = {
    { "step.open", handle_step_open },   { "step.close", handle_step_close },
    { "step.abort", handle_step_abort }, { "rollback", handle_rollback },
    { "history", handle_history },       { "status", handle_status },
};

static json_t *carry_out(struct ic *ic, json_t *request)
{
    const char *type = json_string_value(json_object_get(request, "type"));
    const char *id = json_string_value(json_object_get(request, "request_id"));
    json_t *payload = json_object_get(request, "payload");
    g_autoptr(GError) error = NULL;
    json_t *answer;

    if (!type || !id)
        return message_error(id, ERROR_MISSING_FIELD,
                             type ? "the field 'request_id' is missing"
                                  : "the field 'type' is missing",
                             NULL);
    if (payload && !json_is_object(payload))
        return message_error(id, ERROR_INVALID_FIELD,
                             "the field 'payload' must be an object", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(operations); i++) {
        if (g_strcmp0(type, operations[i].type) != 0)
            continue;
        answer = operations[i].handle(ic, payload, &error);
        return answer ? message_response(id, answer)
                      : message_gerror(id, error);
    }
    return message_error(id, ERROR_UNKNOWN_OPERATION,
                         "no such operation on the control socket", NULL);
}

/* ---- clients (control thread) -------------------------------------------- */

static void client_unref(struct client *client)
{
    if (--client->refs > 0)
        return;
    g_queue_clear_full(&client->pending, (GDestroyNotify)json_decref);
    g_free(client);
}

static void start_next(struct client *client)
{
    struct job *job;

    if (client->busy || g_queue_is_empty(&client->pending))
        return;
    job = g_new0(struct job, 1);
    client->refs++;
    client->busy = true;
    job->client = client;
    job->request = g_queue_pop_head(&client->pending);
    g_thread_pool_push(client->control->pool, job, NULL);
}

static void job_free(gpointer data)
{
    struct job *job = data;

    json_decref(job->request);
    json_decref(job->answer);
    client_unref(job->client);
    g_free(job);
}

static gboolean job_done(gpointer data)
{
    struct job *job = data;
    struct client *client = job->client;

    client->busy = false;
    if (client->channel) {
        jsonl_channel_send(client->channel, g_steal_pointer(&job->answer),
                           false);
        start_next(client);
    }
    return G_SOURCE_REMOVE;
}

static void run_job(gpointer data, gpointer user_data)
{
    struct control *control = user_data;
    struct job *job = data;
    GSource *source = g_idle_source_new();

    job->answer = carry_out(control->ic, job->request);
    g_source_set_callback(source, job_done, job, job_free);
    g_source_attach(source, control->context);
    g_source_unref(source);
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
    if (g_queue_get_length(&client->pending) >= MAX_PENDING) {
        id = json_string_value(json_object_get(message, "request_id"));
        jsonl_channel_send(channel,
                           message_error(id, ERROR_BUSY,
                                         "too many requests are waiting", NULL),
                           true);
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

static const struct jsonl_callbacks callbacks = { on_line, on_closed };

static void client_add(struct control *control, int fd)
{
    struct client *client = g_new0(struct client, 1);

    client->refs = 1;
    client->control = control;
    g_queue_init(&client->pending);
    client->channel = jsonl_channel_new(fd, fd, MAX_LINE, MAX_QUEUE, &callbacks,
                                        client);
    g_ptr_array_add(control->clients, client);
    if (control->recovery)
        jsonl_channel_send(client->channel, g_steal_pointer(&control->recovery),
                           false);
}

static gboolean on_connect(int fd, GIOCondition condition, gpointer data)
{
    struct control *control = data;
    int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

    if (peer >= 0)
        client_add(control, peer);
    else if (errno != EINTR && errno != EAGAIN && errno != ECONNABORTED) {
        log_error(LOG_CONTROL, "control socket: %s", g_strerror(errno));
        g_usleep(100000); /* out of fds, say: do not spin */
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

static json_t *recovery_event(struct ic *ic)
{
    const struct ic_step_info *info = ic->recovered;
    json_t *payload;

    if (!info)
        return NULL;
    payload = report_to_json(info);
    json_object_set_new(payload, "restored_paths",
                        json_integer((json_int_t)info->affected));
    return message_event("event.recovery", payload);
}

static struct control *control_get(struct ic *ic)
{
    struct control *control = ic->control;

    if (control)
        return control;
    control = ic->control = g_new0(struct control, 1);
    control->ic = ic;
    control->listen_fd = -1;
    control->clients = g_ptr_array_new();
    control->recovery = recovery_event(ic);
    control->context = g_main_context_new();
    control->loop = g_main_loop_new(control->context, FALSE);
    control->pool = g_thread_pool_new(run_job, control, POOL_THREADS, FALSE,
                                      NULL);
    control->thread = g_thread_new("control", run_thread, control);
    return control;
}

static gboolean quit_loop(gpointer data)
{
    struct control *control = data;

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
    quit = g_idle_source_new();
    g_source_set_callback(quit, quit_loop, control, NULL);
    g_source_attach(quit, control->context);
    g_source_unref(quit);
    g_thread_join(control->thread);
    g_thread_pool_free(control->pool, FALSE, TRUE);
    if (control->accept_source) {
        g_source_destroy(control->accept_source);
        g_source_unref(control->accept_source);
    }
    for (guint i = 0; i < control->clients->len; i++)
        client_drop(g_ptr_array_index(control->clients, i));
    g_ptr_array_unref(control->clients);
    g_main_loop_unref(control->loop);
    g_main_context_unref(control->context); /* frees jobs not yet answered */
    fd_close(&control->listen_fd);
    if (control->path)
        unix_socket_remove(control->path);
    json_decref(control->recovery);
    g_free(control->path);
    g_free(control);
}

gboolean ic_control_listen(struct ic *ic, const char *path, GError **error)
{
    int fd = unix_socket_listen(path, error);
    struct control *control;

    if (fd < 0)
        return FALSE;
    control = control_get(ic);
    control->path = g_strdup(path);
    control->listen_fd = fd;
    control->accept_source = g_unix_fd_source_new(fd, G_IO_IN);
    g_source_set_callback(control->accept_source, G_SOURCE_FUNC(on_connect),
                          control, NULL);
    g_source_attach(control->accept_source, control->context);
    return TRUE;
}

struct attachment {
    struct control *control;
    int fd;
};

static gboolean attach(gpointer data)
{
    struct attachment *attachment = data;

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
    invoke(attachment->control, attach, attachment, g_free);
    return TRUE;
}

struct broadcast {
    struct control *control;
    char *text;
};

static gboolean broadcast(gpointer data)
{
    struct broadcast *b = data;

    for (guint i = 0; i < b->control->clients->len; i++) {
        struct client *client = g_ptr_array_index(b->control->clients, i);

        jsonl_channel_send(
            client->channel,
            message_event("event.warning",
                          json_pack("{s:s}", "message", b->text)),
            true);
    }
    return G_SOURCE_REMOVE;
}

static void broadcast_free(gpointer data)
{
    struct broadcast *b = data;

    g_free(b->text);
    g_free(b);
}

void ic_control_warn(struct ic *ic, const char *text)
{
    struct broadcast *b;

    log_warn(LOG_UNDO, "%s", text);
    if (!ic->control)
        return;
    b = g_new(struct broadcast, 1);
    b->control = ic->control;
    b->text = g_utf8_make_valid(text, -1);
    invoke(ic->control, broadcast, b, broadcast_free);
}
