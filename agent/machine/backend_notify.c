/* SPDX-License-Identifier: Apache-2.0
 *
 * backend_notify - see backend_notify.h.
 */
#include "agent/machine/backend_notify.h"

#include <sys/socket.h>

#include "common/fd.h"
#include "common/jsonl.h"
#include "common/log.h"
#include "shim/wire.h"

enum { MAX_QUEUE = 64 * 1024 };

struct backend_notify {
    struct jsonl_channel *channel;
    int peer;
    gint64 pending; /* id; 0: none */
    void (*refresh)(gint64 id, json_t *message, void *opaque);
    void *opaque;
};

/* The server does not wait then. */
static void send_failed(struct backend_notify *notify, gint64 id)
{
    jsonl_channel_send(notify->channel,
                       json_pack("{s:I}", "failed", (json_int_t)id), true);
}

static void on_line(struct jsonl_channel *channel, enum jsonl_status status,
                    json_t *message, const char *error, void *opaque)
{
    struct backend_notify *notify = opaque;
    gint64 id = json_integer_value(json_object_get(message, "id"));

    if (status != JSONL_OK) {
        log_warn(LOG_CONTROL, "notification of a file server: %s", error);
        send_failed(notify, 0);
        return;
    }
    if (notify->pending != 0 || id <= 0 ||
        !json_is_boolean(json_object_get(message, "unused")) ||
        !json_is_array(json_object_get(message, "names"))) {
        log_warn(LOG_CONTROL, "notification of a file server: not valid");
        send_failed(notify, id);
        return;
    }
    notify->pending = id;
    notify->refresh(notify->pending, message, notify->opaque);
}

/* The end of the process is reported elsewhere. */
static void on_closed(struct jsonl_channel *channel, void *opaque)
{
}

static const struct jsonl_callbacks callbacks = {
    .line = on_line,
    .closed = on_closed,
};

struct backend_notify *
backend_notify_new(void (*refresh)(gint64 id, json_t *message, void *opaque),
                   void *opaque)
{
    struct backend_notify *notify;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return NULL;
    notify = g_new0(struct backend_notify, 1);
    notify->peer = ends[1];
    notify->refresh = refresh;
    notify->opaque = opaque;
    notify->channel = jsonl_channel_new(ends[0], ends[0], WIRE_MAX_LINE,
                                        MAX_QUEUE, &callbacks, notify);
    return notify;
}

void backend_notify_free(struct backend_notify *notify)
{
    if (!notify)
        return;
    jsonl_channel_free(notify->channel);
    fd_close(&notify->peer);
    g_free(notify);
}

int backend_notify_peer(const struct backend_notify *notify)
{
    return notify ? notify->peer : -1;
}

void backend_notify_close_peer(struct backend_notify *notify)
{
    if (notify)
        fd_close(&notify->peer);
}

void backend_notify_keep(struct backend_notify *notify)
{
    if (notify)
        jsonl_channel_send(notify->channel, json_pack("{s:b}", "keep", 1),
                           false);
}

void backend_notify_pause(struct backend_notify *notify, bool paused)
{
    if (notify)
        jsonl_channel_send(notify->channel,
                           json_pack("{s:b}", "paused", (int)paused), false);
}

bool backend_notify_told(struct backend_notify *notify, gint64 id, bool ok)
{
    if (!notify || id == 0 || id != notify->pending)
        return false;
    notify->pending = 0;
    jsonl_channel_send(
        notify->channel,
        json_pack("{s:I}", ok ? "told" : "failed", (json_int_t)id), false);
    return true;
}
