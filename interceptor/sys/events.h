/* SPDX-License-Identifier: Apache-2.0
 *
 * events - what the engine tells without being asked.
 *
 * An event goes to the callback of ic_open_share() and to every client of the
 * control socket. What happens before the first client is there (recovery at
 * the start, say) is kept for it, the newest EVENTS_KEPT.
 *
 * Threads: any; an event may be sent with the engine's locks held.
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

/* Send "event.X". payload is taken. */
void events_send(struct events *events, const char *type, json_t *payload);

/* event.warning with a text: also a line of the log. */
void events_warn(struct events *events, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* From now on events go to send() as whole messages (taken), those kept
 * first. NULL: keep them again. When it has returned, the former send() is not
 * running and will not be called. */
void events_set_sink(struct events *events,
                     void (*send)(json_t *message, void *opaque), void *opaque);

#endif
