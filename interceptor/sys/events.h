/* SPDX-License-Identifier: Apache-2.0
 *
 * events - notifications that the engine sends unasked.
 *
 * Each event goes to the callback of ic_open_share() and to every client of the
 * control socket. Events before the first client connects (recovery at the
 * start, for example) are queued for it; the queue keeps the newest
 * EVENTS_KEPT.
 *
 * Threads: any; the engine may send an event with its locks held.
 */
#ifndef INTERCEPTOR_SYS_EVENTS_H
#define INTERCEPTOR_SYS_EVENTS_H

#include <jansson.h>

#include "interceptor/interceptor.h"

enum { EVENTS_KEPT = 64 };

struct events;

struct events *events_new(void (*callback)(const char *type,
                                           const char *payload, void *opaque),
                          void *opaque);
void events_free(struct events *events);

/* Send "event.X". Takes ownership of payload. */
void events_send(struct events *events, const char *type, json_t *payload);

/* Send event.warning with this text and log it as well. */
void events_warn(struct events *events, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* From now on pass each event as a whole message to send(), which takes
 * ownership of it, beginning with the queued ones. NULL: queue them again. When
 * the call returns, the former send() is not running and is not called again.
 */
void events_set_sink(struct events *events,
                     void (*send)(json_t *message, void *opaque), void *opaque);

#endif
