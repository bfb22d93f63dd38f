/* SPDX-License-Identifier: Apache-2.0
 *
 * session_events - what a session tells of itself, and what it allows.
 */
#ifndef AGENT_SESSION_SESSION_EVENTS_H
#define AGENT_SESSION_SESSION_EVENTS_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/base/command.h"
#include "agent/base/undo_result.h"
#include "agent/vm/session_config.h"

/* Counters since the start of the process. */
struct session_counters {
    guint64 requests, refused; /* of all parties, who count them here */
    guint64 events, dropped_events;
    guint64 steps;
    guint64 output_bytes;           /* of commands */
    guint64 guest_messages_ignored; /* that made no sense */
};

enum session_state {
    SESSION_STOPPED,
    SESSION_STARTING,
    SESSION_RUNNING,
    SESSION_STOPPING,
    SESSION_BROKEN,
};

/* As the protocols name it: static. */
const char *session_state_name(enum session_state state);

/* All borrowed until the session changes. */
struct session_status {
    enum session_state state;
    struct session_counters counters;
    gint64 running_step; /* 0: none */
    /* Of a session that runs; else config is NULL. */
    const struct session_config *config;
    enum accel accel;
    gint64 boot_ms;
    bool held;        /* the machine stands still */
    const char *disk; /* of the machine, or NULL */
};

enum session_event_type {
    SESSION_EVENT_STEP_STARTED,
    SESSION_EVENT_OUTPUT,
    SESSION_EVENT_STEP_COMPLETED,
    SESSION_EVENT_HISTORY,
    SESSION_EVENT_OTHER,
};

/* All borrowed for the call. */
struct session_event {
    enum session_event_type type;
    bool droppable;                /* a listener may lose it */
    gint64 step_id;                /* of a command's start */
    const struct command *command; /* that starts, or prints */
    const struct command_output *output;
    struct step_report *report; /* of the completed step */
    const char *operation;      /* what changed the history: of the engine */
    GPtrArray *steps;           /* which ones it was about */
    bool truncated;             /* and there are more */
    const char *name;           /* of another event, "event.X" */
    json_t *payload;            /* its payload: of an engine, or about one */
};

struct session_callbacks {
    /* False: it was dropped. May be NULL. */
    bool (*event)(const struct session_event *event, void *opaque);
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
