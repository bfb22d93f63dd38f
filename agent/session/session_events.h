/* SPDX-License-Identifier: Apache-2.0
 *
 * session_events - what a session tells of itself, and what it allows.
 */
#ifndef AGENT_SESSION_SESSION_EVENTS_H
#define AGENT_SESSION_SESSION_EVENTS_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* Counters since the start of the process. */
struct session_counters {
    guint64 requests, refused; /* of all parties, who count them here */
    guint64 events, dropped_events;
    guint64 steps;
    guint64 output_bytes;           /* of commands */
    guint64 guest_messages_ignored; /* that made no sense */
};

struct session_callbacks {
    /* An event for the frontend; payload is taken. droppable: output, of which
     * a part may be lost. False if it was dropped. */
    bool (*event)(const char *type, json_t *payload, bool droppable,
                  void *opaque);
    /* The session runs now, or does not any more: its folders are others. May
     * be NULL. */
    void (*folders)(void *opaque);
};

enum {
    SESSION_TIMEOUT_MAX_S = 7 * 24 * 3600, /* of a command */
    /* Of session_write_file(): bytes of content. */
    SESSION_WRITE_MAX = 8 << 20,
    SESSION_WARNINGS = 50,
};

#endif
