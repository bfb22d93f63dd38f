/* SPDX-License-Identifier: Apache-2.0
 *
 * pool_service - see pool_service.h.
 *
 * The answer to "status": {"pid", "size", "waiting", "filling", "taken",
 * "discarded", "memory_bytes", "image", "waits_for"?, "problem"?, "machines":
 * [{"pid", "qemu_pid", "age_seconds", "memory_bytes"}]}.
 */
#include "agent/vm/pool_service.h"

#include <errno.h>
#include <glib-unix.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/listener.h"
#include "agent/base/runtime_dir.h"
#include "agent/vm/pool_client.h"
#include "agent/vm/pool_memory.h"
#include "agent/vm/pool_wire.h"
#include "common/errors.h"
#include "common/fd.h"
#include "common/fd_message.h"
#include "common/log.h"

enum { MAX_CLIENTS = 32, CLIENT_S = 5, LOOK_S = 2 };

struct service {
    GMainLoop *loop;
    struct runtime_dir *dir;
    struct listener *listener;
    struct pool_keeper *keeper;
    const struct pool_plan *plan;
    char *path;
    GPtrArray *clients;
    int last_client; /* has asked for the end, and hangs until then; or -1 */
};

struct client {
    struct service *service;
    int fd;
    guint source, timer;
    char request[POOL_REQUEST_MAX];
    size_t len;
};

static void free_client(gpointer data)
{
    struct client *client = data;

    g_clear_handle_id(&client->source, g_source_remove);
    g_clear_handle_id(&client->timer, g_source_remove);
    fd_close(&client->fd);
    g_free(client);
}

/* ---- answers ------------------------------------------------------------- */

/* Send an answer (taken) with an fd (borrowed; -1: none). A client that does
 * not take it has given up. */
static bool answer(int fd, json_t *object, int passed)
{
    char *text = json_dumps(object, JSON_COMPACT);
    int rc = fd_message_send(fd, text, strlen(text), &passed, passed >= 0,
                             MSG_DONTWAIT);

    free(text);
    json_decref(object);
    return rc == 0;
}

/* From here on the machine is the client's: if it has given up, the last copy
 * of the link is closed with its socket. */
static void take(struct client *client, json_t *request)
{
    const char *key = json_string_value(json_object_get(request, "key"));
    const char *reason = "the request has no key";
    fd_auto int link = -1;

    if (key)
        link = pool_keeper_take(client->service->keeper, key, &reason);
    if (link >= 0)
        answer(client->fd, json_pack("{s:b}", "taken", 1), link);
    else
        answer(client->fd,
               json_pack("{s:b, s:s}", "taken", 0, "reason", reason), -1);
}

static void distrust(struct client *client, json_t *request)
{
    const char *reason = json_string_value(json_object_get(request, "reason"));

    pool_keeper_distrust(client->service->keeper, reason ? reason : "");
    answer(client->fd, json_object(), -1);
}

static json_t *machine_to_json(const struct pool_entry *entry)
{
    guint64 bytes = pool_memory_of(entry->holder) + pool_memory_of(entry->qemu);
    gint64 age = g_get_monotonic_time() - entry->born;

    return json_pack("{s:i, s:i, s:I, s:I}", "pid", (int)entry->holder,
                     "qemu_pid", (int)entry->qemu, "age_seconds",
                     (json_int_t)(age / G_USEC_PER_SEC), "memory_bytes",
                     (json_int_t)bytes);
}

static json_t *status(const struct service *service)
{
    const char *image = service->plan->config->image;
    g_autofree char *problem = NULL;
    json_t *machines = json_array();
    guint64 memory = pool_memory_of(getpid());
    struct pool_counts counts;

    pool_keeper_count(service->keeper, &counts);
    if (counts.problem) /* QEMU may have written it */
        problem = g_utf8_make_valid(counts.problem, -1);
    for (unsigned i = 0; i < counts.entries; i++) {
        struct pool_entry entry;
        json_t *machine;

        pool_keeper_get(service->keeper, i, &entry);
        if (!entry.waits)
            continue;
        machine = machine_to_json(&entry);
        memory += (guint64)json_integer_value(
            json_object_get(machine, "memory_bytes"));
        json_array_append_new(machines, machine);
    }
    return json_pack(
        "{s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:s?, s:s*, s:s*, s:o}", "pid",
        (int)getpid(), "size", (int)counts.size, "waiting",
        (int)json_array_size(machines), "filling",
        (int)(counts.entries - json_array_size(machines)), "taken",
        (json_int_t)counts.taken, "discarded", (json_int_t)counts.discarded,
        "memory_bytes", (json_int_t)memory, "image", image, "waits_for",
        counts.waits_for, "problem", problem, "machines", machines);
}

/* Only the end of this process hangs up: then all is given up. */
static void end(struct client *client)
{
    struct service *service = client->service;

    fd_close(&service->last_client);
    service->last_client = fd_steal(&client->fd);
    g_main_loop_quit(service->loop);
}

static void serve(struct client *client)
{
    json_t *request = json_loadb(client->request, client->len, 0, NULL);
    const char *what = json_string_value(json_object_get(request, "request"));

    if (g_strcmp0(what, "take") == 0)
        take(client, request);
    else if (g_strcmp0(what, "failed") == 0)
        distrust(client, request);
    else if (g_strcmp0(what, "status") == 0)
        answer(client->fd, status(client->service), -1);
    else if (g_strcmp0(what, "end") == 0)
        end(client);
    json_decref(request);
}

/* ---- clients ------------------------------------------------------------- */

static gboolean on_request(int fd, GIOCondition condition, gpointer data)
{
    struct client *client = data;
    ssize_t n = recv(fd, client->request + client->len,
                     sizeof(client->request) - client->len, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return G_SOURCE_CONTINUE;
    client->len += n > 0 ? (size_t)n : 0;
    if (n > 0 && !memchr(client->request, '\n', client->len) &&
        client->len < sizeof(client->request))
        return G_SOURCE_CONTINUE;
    client->source = 0;
    if (n > 0)
        serve(client);
    g_ptr_array_remove(client->service->clients, client);
    return G_SOURCE_REMOVE;
}

static gboolean on_late(gpointer data)
{
    struct client *client = data;

    client->timer = 0;
    g_ptr_array_remove(client->service->clients, client);
    return G_SOURCE_REMOVE;
}

static void on_client(int fd, void *opaque)
{
    struct service *service = opaque;
    struct ucred peer;
    socklen_t len = sizeof(peer);
    struct client *client;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
        peer.uid != geteuid() || service->clients->len >= MAX_CLIENTS) {
        fd_close(&fd);
        return;
    }
    client = g_new0(struct client, 1);
    client->service = service;
    client->fd = fd;
    client->source = g_unix_fd_add(fd, G_IO_IN | G_IO_HUP | G_IO_ERR,
                                   on_request, client);
    client->timer = g_timeout_add_seconds(CLIENT_S, on_late, client);
    g_ptr_array_add(service->clients, client);
}

/* ---- life ---------------------------------------------------------------- */

static gboolean on_signal(gpointer data)
{
    struct service *service = data;

    g_main_loop_quit(service->loop);
    return G_SOURCE_CONTINUE;
}

/* The runtime folder goes when the user has logged out. */
static gboolean on_look(gpointer data)
{
    struct service *service = data;

    if (access(service->path, F_OK) < 0)
        g_main_loop_quit(service->loop);
    return G_SOURCE_CONTINUE;
}

/* Two commands may start one at the same time. */
static gboolean check_alone(GError **error)
{
    json_t *other = pool_client_status(NULL);

    json_decref(other);
    if (!other)
        return TRUE;
    g_set_error_literal(error, STEPBACK_ERROR, ERROR_BUSY,
                        "the pool of machines: another one was started at the "
                        "same time");
    return FALSE;
}

static gboolean open_socket(struct service *service, GError **error)
{
    if (!check_alone(error))
        return FALSE;
    service->dir = runtime_dir_new_named(POOL_DIR, NULL, error);
    if (!service->dir)
        return FALSE;
    if (!g_getenv("XDG_RUNTIME_DIR") || runtime_dir_note(service->dir)) {
        const char *note = runtime_dir_note(service->dir);

        g_set_error(error, STEPBACK_ERROR, ERROR_VM_LAUNCH_FAILED,
                    "the pool's socket: %s",
                    note ? note
                         : "XDG_RUNTIME_DIR is not set; set it to a folder "
                           "that only you can use");
        return FALSE;
    }
    service->path = runtime_dir_path(service->dir, POOL_SOCKET);
    service->listener = listener_new(service->path, LOG_SESSION, on_client,
                                     service, error);
    return service->listener != NULL;
}

static void run(struct service *service)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++)
        g_unix_signal_add(signals[i], on_signal, service);
    g_timeout_add_seconds(LOOK_S, on_look, service);
    service->keeper = pool_keeper_new(service->plan);
    g_main_loop_run(service->loop);
    pool_keeper_free(service->keeper);
}

gboolean pool_service_run(const struct pool_plan *plan,
                          void (*ready)(void *opaque), void *opaque,
                          GError **error)
{
    struct service service = { .plan = plan, .last_client = -1 };
    gboolean ok;

    service.loop = g_main_loop_new(NULL, FALSE);
    service.clients = g_ptr_array_new_with_free_func(free_client);
    ok = open_socket(&service, error);
    if (ok) {
        ready(opaque);
        run(&service);
    }
    listener_free(service.listener);
    g_ptr_array_unref(service.clients);
    runtime_dir_free(service.dir);
    g_free(service.path);
    g_main_loop_unref(service.loop);
    fd_close(&service.last_client);
    return ok;
}
