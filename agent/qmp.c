/* SPDX-License-Identifier: Apache-2.0
 *
 * qmp - see qmp.h.
 *
 * QEMU takes commands only after "qmp_capabilities"; both that and later
 * commands are queued at once, because QEMU answers in order.
 */
#include "agent/qmp.h"

#include <glib.h>
#include <string.h>

#include "common/jsonl.h"
#include "common/log.h"

enum { MAX_LINE = 1 << 20, MAX_QUEUE = 64 << 10 };

struct qmp {
    struct jsonl_channel *channel;
    void (*port_closed)(void *opaque);
    void *opaque;
    bool held;
};

static bool is_port_closed(const char *event, json_t *data)
{
    return strcmp(event, "VSERPORT_CHANGE") == 0 &&
           json_is_false(json_object_get(data, "open"));
}

static void on_line(struct jsonl_channel *channel, enum jsonl_status status,
                    json_t *message, const char *text, void *opaque)
{
    struct qmp *qmp = opaque;
    json_t *error;
    const char *event;

    if (status != JSONL_OK) {
        log_warn(LOG_SESSION, "bad line from QEMU's monitor: %s", text);
        return;
    }
    error = json_object_get(message, "error");
    event = json_string_value(json_object_get(message, "event"));
    if (error) {
        text = json_string_value(json_object_get(error, "desc"));
        log_warn(LOG_SESSION, "QEMU's monitor: %s", text ? text : "error");
    } else if (event) {
        log_debug(LOG_SESSION, "QEMU reports %s", event);
        if (strcmp(event, "STOP") == 0)
            qmp->held = true;
        else if (strcmp(event, "RESUME") == 0)
            qmp->held = false;
        if (is_port_closed(event, json_object_get(message, "data")))
            qmp->port_closed(qmp->opaque);
    }
}

static const struct jsonl_callbacks callbacks = { .line = on_line };

static void execute(struct qmp *qmp, const char *command)
{
    jsonl_channel_send(qmp->channel, json_pack("{s:s}", "execute", command),
                       false);
}

struct qmp *qmp_new(int fd, void (*port_closed)(void *opaque), void *opaque)
{
    struct qmp *qmp = g_new0(struct qmp, 1);

    qmp->port_closed = port_closed;
    qmp->opaque = opaque;
    qmp->channel = jsonl_channel_new(fd, fd, MAX_LINE, MAX_QUEUE, &callbacks,
                                     qmp);
    execute(qmp, "qmp_capabilities");
    return qmp;
}

void qmp_free(struct qmp *qmp)
{
    if (!qmp)
        return;
    jsonl_channel_free(qmp->channel);
    g_free(qmp);
}

void qmp_quit(struct qmp *qmp)
{
    execute(qmp, "quit");
}

void qmp_hold(struct qmp *qmp, bool hold)
{
    execute(qmp, hold ? "stop" : "cont");
}

bool qmp_is_held(const struct qmp *qmp)
{
    return qmp->held;
}
