/* SPDX-License-Identifier: Apache-2.0
 *
 * events - see events.h.
 */
#include "interceptor/sys/events.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/message.h"

struct events {
    pthread_mutex_t lock; /* guards the fields below; a leaf lock */
    GQueue kept;          /* of json_t messages */
    void (*send)(json_t *message, void *opaque);
    void *send_opaque;

    void (*callback)(const char *type, const char *payload, void *opaque);
    void *opaque;
};

struct events *events_new(void (*callback)(const char *type,
                                           const char *payload, void *opaque),
                          void *opaque)
{
    struct events *events = g_new0(struct events, 1);

    pthread_mutex_init(&events->lock, NULL);
    g_queue_init(&events->kept);
    events->callback = callback;
    events->opaque = opaque;
    return events;
}

void events_free(struct events *events)
{
    if (!events)
        return;
    g_queue_clear_full(&events->kept, (GDestroyNotify)json_decref);
    pthread_mutex_destroy(&events->lock);
    g_free(events);
}

static void call_back(struct events *events, const char *type, json_t *payload)
{
    char *text;

    if (!events->callback)
        return;
    text = json_dumps(payload, JSON_COMPACT);
    events->callback(type, text ? text : "{}", events->opaque);
    free(text);
}

void events_send(struct events *events, const char *type, json_t *payload)
{
    json_t *message;

    call_back(events, type, payload);
    message = message_event(type, payload);
    pthread_mutex_lock(&events->lock);
    if (events->send) {
        events->send(message, events->send_opaque);
    } else {
        g_queue_push_tail(&events->kept, message);
        if (g_queue_get_length(&events->kept) > EVENTS_KEPT)
            json_decref(g_queue_pop_head(&events->kept));
    }
    pthread_mutex_unlock(&events->lock);
}

void events_warn(struct events *events, const char *format, ...)
{
    g_autofree char *text = NULL, *valid = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    valid = g_utf8_make_valid(text, -1);
    log_warn(LOG_UNDO, "%s", valid);
    events_send(events, "event.warning", json_pack("{s:s}", "message", valid));
}

void events_set_sink(struct events *events,
                     void (*send)(json_t *message, void *opaque), void *opaque)
{
    json_t *message;

    pthread_mutex_lock(&events->lock);
    events->send = send;
    events->send_opaque = opaque;
    while (send && (message = g_queue_pop_head(&events->kept)))
        send(message, opaque);
    pthread_mutex_unlock(&events->lock);
}
