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
    GQueue pending; /* of struct request, in the order of their answers */
    gint64 serial;
    bool held, answered;
    enum qmp_guest_end guest_end;
};

struct request {
    gint64 serial;
    qmp_done done;
    void *opaque;
};

static bool is_port_closed(const char *event, json_t *data)
{
    return strcmp(event, "VSERPORT_CHANGE") == 0 &&
           json_is_false(json_object_get(data, "open")) &&
           json_is_string(json_object_get(data, "id"));
}

/* Handle the answer to a command with an id; other commands have none. */
static void take_answer(struct qmp *qmp, json_t *message, const char *error)
{
    json_t *id = json_object_get(message, "id");
    struct request *request = g_queue_peek_head(&qmp->pending), answered;

    if (!request || !json_is_integer(id) ||
        json_integer_value(id) != request->serial)
        return;
    answered = *request;
    g_free(g_queue_pop_head(&qmp->pending));
    answered.done(error, answered.opaque);
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

/* Other words tell of progress. */
static void note_migration(struct qmp *qmp, json_t *data)
{
    static const char *const ends[] = { "completed", "failed", "cancelled",
                                        NULL };
    const char *status = json_string_value(json_object_get(data, "status"));

    if (status && g_strv_contains(ends, status))
        qmp->callbacks->migrated(status, qmp->opaque);
}

static void take_event(struct qmp *qmp, const char *event, json_t *data)
{
    /* Devices without an id have no "device". */
    const char *device = json_string_value(json_object_get(data, "device"));

    log_debug(LOG_SESSION, "QEMU reports %s", event);
    if (strcmp(event, "STOP") == 0)
        qmp->held = true;
    else if (strcmp(event, "RESUME") == 0)
        qmp->held = false;
    else if (strcmp(event, "SHUTDOWN") == 0)
        note_shutdown(qmp, data);
    else if (strcmp(event, "MIGRATION") == 0)
        note_migration(qmp, data);
    else if (is_port_closed(event, data))
        qmp->callbacks->port_closed(
            json_string_value(json_object_get(data, "id")), qmp->opaque);
    else if (strcmp(event, "DEVICE_DELETED") == 0 && device)
        qmp->callbacks->device_deleted(device, qmp->opaque);
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

struct qmp *qmp_new(int fd, bool negotiated,
                    const struct qmp_callbacks *callbacks, void *opaque)
{
    struct qmp *qmp = g_new0(struct qmp, 1);

    qmp->callbacks = callbacks;
    qmp->opaque = opaque;
    qmp->channel = jsonl_channel_new(fd, fd, MAX_LINE, MAX_QUEUE,
                                     &jsonl_callbacks, qmp);
    if (!negotiated)
        qmp_request(qmp, "qmp_capabilities", NULL, NULL, NULL);
    return qmp;
}

void qmp_free(struct qmp *qmp)
{
    if (!qmp)
        return;
    jsonl_channel_free(qmp->channel);
    g_queue_clear_full(&qmp->pending, g_free);
    g_free(qmp);
}

bool qmp_has_answered(const struct qmp *qmp)
{
    return qmp->answered;
}

void qmp_quit(struct qmp *qmp)
{
    qmp_request(qmp, "quit", NULL, NULL, NULL);
}

void qmp_hold(struct qmp *qmp, bool hold)
{
    qmp_request(qmp, hold ? "stop" : "cont", NULL, NULL, NULL);
}

void qmp_request(struct qmp *qmp, const char *command, json_t *arguments,
                 qmp_done done, void *opaque)
{
    json_t *message = json_pack("{s:s, s:o*}", "execute", command, "arguments",
                                arguments);

    if (done) {
        struct request *request = g_new(struct request, 1);

        *request = (struct request){ ++qmp->serial, done, opaque };
        json_object_set_new(message, "id", json_integer(request->serial));
        g_queue_push_tail(&qmp->pending, request);
    }
    jsonl_channel_send(qmp->channel, message, false);
}

void qmp_move_file(struct qmp *qmp, const char *device, const char *path)
{
    json_t *file = json_pack("{s:s, s:b}", "out", path, "append", 1);

    qmp_request(qmp, "chardev-change",
                json_pack("{s:s, s:{s:s, s:o}}", "id", device, "backend",
                          "type", "file", "data", file),
                NULL, NULL);
}

void qmp_save(struct qmp *qmp, const char *socket, qmp_done done, void *opaque)
{
    g_autofree char *uri = g_strconcat("unix:", socket, NULL);

    qmp_request(qmp, "migrate-set-capabilities",
                json_pack("{s:[{s:s, s:b}]}", "capabilities", "capability",
                          "events", "state", 1),
                done, opaque);
    /* The default is 128 MiB per second. */
    qmp_request(qmp, "migrate-set-parameters",
                json_pack("{s:I}", "max-bandwidth", (json_int_t)1 << 40), done,
                opaque);
    qmp_request(qmp, "migrate", json_pack("{s:s}", "uri", uri), done, opaque);
}

bool qmp_is_held(const struct qmp *qmp)
{
    return qmp->held;
}

enum qmp_guest_end qmp_guest_end(const struct qmp *qmp)
{
    return qmp->guest_end;
}
