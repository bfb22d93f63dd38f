/* SPDX-License-Identifier: Apache-2.0
 *
 * session_copy - see session_copy.h.
 */
#include "agent/session/session_copy.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/session/session_core.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/unix_socket.h"

struct session_copy {
    struct session *session;
    gint64 id;
    struct bulk_transfer *transfer;
    const void *owner;
    struct reply reply; /* until the guest has accepted the path */
    int fd;             /* the client's, until it is attached; or -1 */
    char *socket;       /* the path of the listening socket, or NULL */
    int listen_fd;
    guint accept_source, timer;
};

static void stop_listening(struct session_copy *copy)
{
    g_clear_handle_id(&copy->accept_source, g_source_remove);
    g_clear_handle_id(&copy->timer, g_source_remove);
    if (copy->listen_fd >= 0)
        unix_socket_remove(copy->socket);
    fd_close(&copy->listen_fd);
}

static void release(struct session_copy *copy)
{
    stop_listening(copy);
    fd_close(&copy->fd);
    g_free(copy->socket);
    g_free(copy);
}

/* ---- the client's connection --------------------------------------------- */

static gboolean on_client(gint fd, GIOCondition condition, gpointer data)
{
    struct session_copy *copy = data;
    int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

    if (client < 0)
        return G_SOURCE_CONTINUE;
    copy->accept_source = 0;
    stop_listening(copy);
    bulk_transfer_attach(copy->transfer, client);
    return G_SOURCE_REMOVE;
}

static gboolean on_no_client(gpointer data)
{
    struct session_copy *copy = data;

    copy->timer = 0;
    stop_listening(copy);
    bulk_transfer_cancel(copy->transfer, "no client connected in time");
    return G_SOURCE_REMOVE;
}

static gboolean listen_for_client(struct session_copy *copy, GError **error)
{
    g_autofree char *name = g_strdup_printf("copy%" G_GINT64_FORMAT, copy->id);

    copy->socket = machine_runtime_path(copy->session->machine, name);
    copy->listen_fd = unix_socket_listen(copy->socket, error);
    if (copy->listen_fd < 0)
        return FALSE;
    g_unix_set_fd_nonblocking(copy->listen_fd, TRUE, NULL);
    copy->accept_source = g_unix_fd_add(copy->listen_fd, G_IO_IN, on_client,
                                        copy);
    copy->timer = g_timeout_add_seconds(COPY_CONNECT_S, on_no_client, copy);
    return TRUE;
}

/* ---- the transfer -------------------------------------------------------- */

static void on_opened(struct bulk_transfer *transfer, void *opaque)
{
    struct session_copy *copy = opaque;
    g_autoptr(GError) error = NULL;
    struct copy_started started = { .id = copy->id };
    const struct answer answer = { .copy = &started };

    if (copy->fd >= 0) {
        bulk_transfer_attach(transfer, fd_steal(&copy->fd));
    } else if (!listen_for_client(copy, &error)) {
        reply_send(&copy->reply, NULL, error);
        bulk_transfer_cancel(transfer, error->message);
        return;
    }
    started.socket = copy->socket;
    reply_send(&copy->reply, &answer, NULL);
}

static void on_ended(struct bulk_transfer *transfer,
                     const struct bulk_totals *totals, const GError *error,
                     void *opaque)
{
    struct session_copy *copy = opaque;
    const struct copy_end end = { .id = copy->id,
                                  .bytes = totals->bytes,
                                  .entries = totals->entries,
                                  .skipped = totals->skipped,
                                  .error = error };
    const struct session_event event = {
        .type = SESSION_EVENT_COPY,
        .copy = &end,
        .owner = copy->owner,
    };

    log_info(LOG_SESSION, "copy %" G_GINT64_FORMAT " is over: %s", copy->id,
             error ? error->message : "done");
    if (copy->reply.done) {
        /* The guest refused the path. */
        reply_send(&copy->reply, NULL, error);
        release(copy);
        return;
    }
    session_send(copy->session, &event);
    release(copy);
}

static const struct bulk_callbacks bulk_callbacks = {
    .opened = on_opened,
    .ended = on_ended,
};

/* ---- operations ---------------------------------------------------------- */

/* A copy into a share would be a change without a step. */
static gboolean check_target(const struct session *session,
                             const struct bulk_request *request, GError **error)
{
    const struct session_config *config = session->config;

    for (unsigned i = 0; request->in && i < config->n_directories; i++) {
        const struct session_directory *directory = config->directories[i];
        const char *guest = directory->guest_path;
        size_t len = strlen(guest);

        if (strncmp(request->path, guest, len) == 0 &&
            (request->path[len] == '/' || request->path[len] == '\0')) {
            g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                        "%s is in a shared folder; copy to %s on the host "
                        "instead",
                        guest, directory->path);
            return FALSE;
        }
    }
    return TRUE;
}

void session_copy(struct session *session, const struct bulk_request *request,
                  int fd, const void *owner, reply_done done, void *opaque)
{
    struct session_copy *copy = g_new0(struct session_copy, 1);
    GError *error = NULL;

    copy->session = session;
    copy->fd = fd;
    copy->owner = owner;
    copy->listen_fd = -1;
    copy->reply = (struct reply){ done, opaque };
    if (session_check_running(session, &error) &&
        check_target(session, request, &error))
        copy->transfer = bulk_port_start(machine_bulk(session->machine),
                                         request, &bulk_callbacks, copy,
                                         &error);
    if (!copy->transfer) {
        release(copy);
        reply_post_error(done, opaque, error);
        return;
    }
    copy->id = ++session->last_copy_id;
}
