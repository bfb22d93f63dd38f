/* SPDX-License-Identifier: Apache-2.0
 *
 * control_link - see control_link.h.
 */
#include "agent/client/control_link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/jsonl.h"
#include "common/log.h"
#include "common/message.h"
#include "common/unix_socket.h"

/* A report names at most 1,000 changes, each with two paths of at most 4 KiB,
 * in base64 in the worst case; a history has many reports. */
#define DAEMON "the file system daemon"

enum { MAX_LINE = 64 << 20, MAX_QUEUE = 16 << 20 };

struct pending {
    control_link_done done;
    void *opaque;
};

struct control_link {
    struct jsonl_channel *channel;
    const struct control_link_callbacks *callbacks;
    void *opaque;
    const char *peer; /* static */
    guint64 last_id;
    GHashTable *pending; /* request id (owned) -> struct pending (owned) */
    GError *refusal;     /* why the peer closes the connection, or NULL */
    gboolean closed;
    guint late;      /* GSource that fails the requests made after the end */
    gboolean *freed; /* set while a callback runs; tells the caller frame that
                        the link was freed */
};

static void answer(struct control_link *link, const char *id, json_t *message)
{
    struct pending *pending = id ? g_hash_table_lookup(link->pending, id)
                                 : NULL;
    g_autoptr(GError) error = NULL;
    struct pending copy;

    if (!id && !link->refusal && message_is_error(message, &link->refusal))
        return;
    if (!pending) {
        log_warn(LOG_CONTROL, "%s answered an unknown request", link->peer);
        return;
    }
    copy = *pending;
    g_hash_table_remove(link->pending, id);
    if (!copy.done)
        return;
    if (message_is_error(message, &error))
        copy.done(NULL, error, message_error_data(message), copy.opaque);
    else
        copy.done(json_object_get(message, "payload"), NULL, NULL, copy.opaque);
}

static void on_line(struct jsonl_channel *channel, enum jsonl_status status,
                    json_t *message, const char *text, void *opaque)
{
    struct control_link *link = opaque;
    const char *type;

    if (status != JSONL_OK) {
        log_warn(LOG_CONTROL, "malformed line from %s: %s", link->peer, text);
        return;
    }
    type = json_string_value(json_object_get(message, "type"));
    if (g_strcmp0(type, "response") == 0)
        answer(link, json_string_value(json_object_get(message, "request_id")),
               message);
    else if (type && g_str_has_prefix(type, "event.") && link->callbacks->event)
        link->callbacks->event(link, type, json_object_get(message, "payload"),
                               link->opaque);
}

/* Fail every waiting request. A callback may free the link, so the table was
 * detached from it first. */
static void fail_pending(GHashTable *pending, const char *peer,
                         const GError *refusal)
{
    g_autoptr(GError)
        error = refusal ? g_error_copy(refusal)
                        : g_error_new(STEPBACK_ERROR, ERROR_BACKEND_FAILED,
                                      "%s closed the connection", peer);
    GHashTableIter iter;
    struct pending *one;

    g_hash_table_iter_init(&iter, pending);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&one)) {
        if (one->done)
            one->done(NULL, error, NULL, one->opaque);
    }
    g_hash_table_destroy(pending);
}

static GHashTable *pending_table(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

/* Return false if a callback has freed the link. */
static bool close_link(struct control_link *link)
{
    GHashTable *pending = link->pending;
    g_autoptr(GError) refusal = link->refusal ? g_error_copy(link->refusal)
                                              : NULL;
    gboolean *outer = link->freed;
    gboolean freed = FALSE;

    link->closed = TRUE;
    g_clear_handle_id(&link->late, g_source_remove);
    link->pending = pending_table();
    link->freed = &freed;
    fail_pending(pending, link->peer, refusal);
    if (!freed)
        link->freed = outer;
    else if (outer)
        *outer = TRUE;
    return !freed;
}

static void on_closed(struct jsonl_channel *channel, void *opaque)
{
    struct control_link *link = opaque;

    if (close_link(link) && link->callbacks->closed)
        link->callbacks->closed(link, link->opaque);
}

static const struct jsonl_callbacks channel_callbacks = {
    .line = on_line,
    .closed = on_closed,
};

struct control_link *
control_link_new_bounded(int fd, size_t line_max,
                         const struct control_link_callbacks *callbacks,
                         void *opaque)
{
    struct control_link *link = g_new0(struct control_link, 1);

    link->callbacks = callbacks;
    link->opaque = opaque;
    link->peer = DAEMON;
    link->pending = pending_table();
    link->channel = jsonl_channel_new(fd, fd, line_max, MAX_QUEUE,
                                      &channel_callbacks, link);
    return link;
}

struct control_link *
control_link_new(int fd, const struct control_link_callbacks *callbacks,
                 void *opaque)
{
    return control_link_new_bounded(fd, MAX_LINE, callbacks, opaque);
}

struct control_link *
control_link_connect(const char *path,
                     const struct control_link_callbacks *callbacks,
                     void *opaque, GError **error)
{
    int fd = unix_socket_connect(path, SOCK_NONBLOCK);

    if (fd < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_BACKEND_FAILED,
                    "cannot connect to %s: %s", path, g_strerror(-fd));
        return NULL;
    }
    return control_link_new(fd, callbacks, opaque);
}

void control_link_name_peer(struct control_link *link, const char *peer)
{
    link->peer = peer;
}

void control_link_free(struct control_link *link)
{
    if (!link)
        return;
    if (link->freed)
        *link->freed = TRUE;
    link->freed = NULL;
    /* A callback of a failed request may send another request. */
    do
        close_link(link);
    while (g_hash_table_size(link->pending) > 0);
    g_clear_handle_id(&link->late, g_source_remove);
    g_hash_table_destroy(link->pending);
    jsonl_channel_free(link->channel);
    g_clear_error(&link->refusal);
    g_free(link);
}

void control_link_close(struct control_link *link)
{
    if (link)
        close_link(link);
}

static gboolean fail_late(gpointer data)
{
    struct control_link *link = data;

    link->late = 0;
    close_link(link);
    return G_SOURCE_REMOVE;
}

/* Fail a request without a connection. */
static gboolean fail_unlinked(gpointer data)
{
    fail_pending(data, DAEMON, NULL);
    return G_SOURCE_REMOVE;
}

void control_link_hold(struct control_link *link, gboolean hold)
{
    if (!link->closed)
        jsonl_channel_hold(link->channel, hold);
}

void control_link_request(struct control_link *link, const char *type,
                          json_t *payload, control_link_done done, void *opaque)
{
    struct pending *pending = g_new0(struct pending, 1);
    char *id = g_strdup_printf("%" G_GUINT64_FORMAT,
                               link ? ++link->last_id : 0);

    pending->done = done;
    pending->opaque = opaque;
    if (!link) {
        GHashTable *late = pending_table();

        json_decref(payload);
        g_hash_table_insert(late, id, pending);
        g_idle_add(fail_unlinked, late);
        return;
    }
    g_hash_table_insert(link->pending, id, pending);
    if (!link->closed) {
        jsonl_channel_send(link->channel, message_request(type, id, payload),
                           false);
        return;
    }
    json_decref(payload);
    if (!link->late)
        link->late = g_idle_add(fail_late, link);
}
