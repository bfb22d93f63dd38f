/* SPDX-License-Identifier: Apache-2.0
 *
 * qmp - see qmp.h.
 *
 * QEMU accepts commands only after "qmp_capabilities"; that command and later
 * ones are queued at once, because QEMU answers in order.
 */
#include "agent/vm/qmp.h"

#include <glib.h>
#include <string.h>

#include "common/jsonl.h"
#include "common/log.h"

enum { MAX_LINE = 1 << 20, MAX_QUEUE = 64 << 10 };

struct qmp {
    struct jsonl_channel *channel;
    const struct qmp_callbacks *callbacks;
    void *opaque;
    bool held, answered;
    enum qmp_guest_end guest_end;
};

static bool is_port_closed(const char *event, json_t *data)
{
    return strcmp(event, "VSERPORT_CHANGE") == 0 &&
           json_is_false(json_object_get(data, "open"));
}

/* Handle the answer to a command with an id; other commands have none. */
static void take_answer(struct qmp *qmp, json_t *message, const char *error)
{
    json_t *id = json_object_get(message, "id");

    if (json_is_string(id) && (error || json_object_get(message, "return")))
        qmp->callbacks->reconnected(json_string_value(id), error, qmp->opaque);
}

/* QEMU reports why it is about to end (SHUTDOWN); "guest": the guest caused
 * it. */
static void note_shutdown(struct qmp *qmp, json_t *data)
{
    const char *reason = json_string_value(json_object_get(data, "reason"));

    if (!json_is_true(json_object_get(data, "guest")))
        return;
    qmp->guest_end = g_strcmp0(reason, "guest-reset") == 0 ? QMP_GUEST_RESET
                                                           : QMP_GUEST_STOPPED;
}

static void take_event(struct qmp *qmp, const char *event, json_t *data)
{
    log_debug(LOG_SESSION, "QEMU reports %s", event);
    if (strcmp(event, "STOP") == 0)
        qmp->held = true;
    else if (strcmp(event, "RESUME") == 0)
        qmp->held = false;
    else if (strcmp(event, "SHUTDOWN") == 0)
        note_shutdown(qmp, data);
    else if (is_port_closed(event, data))
        qmp->callbacks->port_closed(qmp->opaque);
}

static void on_line(struct jsonl_channel *channel, enum jsonl_status status,
                    json_t *message, const char *text, void *opaque)
{
    struct qmp *qmp = opaque;
    json_t *error;
    const char *event;

    if (status != JSONL_OK) {
        log_warn(LOG_SESSION, "malformed line from QEMU's monitor: %s", text);
        return;
    }
    qmp->answered = true;
    error = json_object_get(message, "error");
    event = json_string_value(json_object_get(message, "event"));
    if (error) {
        text = json_string_value(json_object_get(error, "desc"));
        text = text ? text : "error";
        log_warn(LOG_SESSION, "QEMU's monitor: %s", text);
        take_answer(qmp, message, text);
    } else if (event) {
        take_event(qmp, event, json_object_get(message, "data"));
    } else {
        take_answer(qmp, message, NULL);
    }
}

static void on_closed(struct jsonl_channel *channel, void *opaque)
{
    struct qmp *qmp = opaque;

    qmp->callbacks->closed(qmp->opaque);
}

static const struct jsonl_callbacks jsonl_callbacks = {
    .line = on_line,
    .closed = on_closed,
};

static void execute(struct qmp *qmp, const char *command)
{
    jsonl_channel_send(qmp->channel, json_pack("{s:s}", "execute", command),
                       false);
}

struct qmp *qmp_new(int fd, const struct qmp_callbacks *callbacks, void *opaque)
{
    struct qmp *qmp = g_new0(struct qmp, 1);

    qmp->callbacks = callbacks;
    qmp->opaque = opaque;
    qmp->channel = jsonl_channel_new(fd, fd, MAX_LINE, MAX_QUEUE,
                                     &jsonl_callbacks, qmp);
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

bool qmp_has_answered(const struct qmp *qmp)
{
    return qmp->answered;
}

void qmp_quit(struct qmp *qmp)
{
    execute(qmp, "quit");
}

void qmp_hold(struct qmp *qmp, bool hold)
{
    execute(qmp, hold ? "stop" : "cont");
}

void qmp_reconnect(struct qmp *qmp, const char *chardev, const char *path)
{
    json_t *backend = json_pack("{s:s, s:{s:{s:s, s:{s:s}}, s:b, s:i}}", "type",
                                "socket", "data", "addr", "type", "unix",
                                "data", "path", path, "server", 0, "reconnect",
                                1);

    jsonl_channel_send(qmp->channel,
                       json_pack("{s:s, s:s, s:{s:s, s:o}}", "execute",
                                 "chardev-change", "id", chardev, "arguments",
                                 "id", chardev, "backend", backend),
                       false);
}

bool qmp_is_held(const struct qmp *qmp)
{
    return qmp->held;
}

enum qmp_guest_end qmp_guest_end(const struct qmp *qmp)
{
    return qmp->guest_end;
}
