/* SPDX-License-Identifier: Apache-2.0
 *
 * session_events - the events, status and limits of a session.
 */
#ifndef AGENT_SESSION_SESSION_EVENTS_H
#define AGENT_SESSION_SESSION_EVENTS_H

#include <glib.h>
#include <stdbool.h>

#include "agent/base/command.h"
#include "agent/base/undo_result.h"
#include "agent/client/engine_event.h"
#include "agent/machine/session_config.h"

/* Counters since the process started. */
struct session_counters {
    guint64 requests, refused; /* counted by all parties */
    guint64 events, dropped_events;
    guint64 steps;
    guint64 output_bytes;           /* of commands */
    guint64 guest_messages_ignored; /* malformed or out of place */
};

enum session_state {
    SESSION_STOPPED,
    SESSION_STARTING,
    SESSION_RUNNING,
    SESSION_STOPPING,
    SESSION_BROKEN,
};

/* Return the protocol's name of a state: static. */
const char *session_state_name(enum session_state state);

/* All borrowed until the session changes. */
struct session_status {
    enum session_state state;
    struct session_counters counters;
    gint64 running_step;   /* 0: none */
    const char *waits_for; /* while it starts or stops: what for, or NULL */
    /* Of a running session; otherwise config is NULL. */
    const struct session_config *config;
    enum accel accel;
    gint64 boot_ms;
    guint64 ids;      /* as machine_ids() */
    bool restored;    /* it continued from its template, or the pool's */
    bool pooled;      /* it was taken from the pool */
    bool held;        /* the machine is paused */
    const char *disk; /* the machine's disk, or NULL */
    GPid holder;      /* as machine_holder() */
};

enum session_event_type {
    SESSION_EVENT_STEP_STARTED,
    SESSION_EVENT_OUTPUT,
    SESSION_EVENT_STEP_COMPLETED,
    SESSION_EVENT_HISTORY,
    SESSION_EVENT_WARNING,
    SESSION_EVENT_ERROR,    /* the machine is lost */
    SESSION_EVENT_COPY,     /* a copy is over */
    SESSION_EVENT_APPROVAL, /* a request waits for a decision, or is over */
    SESSION_EVENT_RELAYED,  /* of an engine or a machine */
};

/* How a copy (session_copy.h) ended. */
struct copy_end {
    gint64 id;
    guint64 bytes, entries, skipped;
    const GError *error; /* or NULL */
};

/* All borrowed for the call. */
struct session_event {
    enum session_event_type type;
    bool droppable; /* may be dropped if the listener's queue is full */
    gint64 step_id; /* of the starting command */
    const struct command *command; /* that starts, prints or has
                                      ended; NULL: another step */
    const struct command_output *output;
    struct step_report *report; /* of the completed step */
    const char *operation; /* the operation that changed the history, as the
                              engine names it */
    GPtrArray *steps;      /* the affected steps */
    bool truncated;        /* there are more */
    const struct folder_warning *warning;
    const GError *error;
    const struct copy_end *copy;
    const struct approval *approval; /* session_approval.h */
    const void *owner; /* the client whose copy it is about, or NULL */

    /* Of a relayed event: its type, "event.X", and its payload, of which these
     * members are replaced unless they are NULL. */
    const char *name;
    struct json_t *payload; /* may be NULL */
    const char *directory, *safeguard_id, *reason;
};

/* The answer to session_folder_status(). */
struct folder_status {
    struct json_t *relayed;   /* the engine's answer */
    const char *directory;    /* the folder's label */
    const char *safeguard_id; /* of its pending decision, or NULL */
    GPtrArray *warnings;      /* of struct folder_warning; may be NULL */
};

/* An execution has started (command), or is over (exit); borrowed. */
struct exec_note {
    gint64 exec_id;
    const struct command *command;
    const struct exec_exit *exit; /* session_party.h */
};

struct session_callbacks {
    /* Return false if the event was dropped. May be NULL. */
    bool (*event)(const struct session_event *event, void *opaque);
    /* The session has started or ended, so the set of folders has changed. May
     * be NULL. */
    void (*folders)(void *opaque);
    /* May be NULL. */
    void (*exec)(const struct exec_note *note, void *opaque);
    /* The network policy was changed. May be NULL. */
    void (*policy)(const struct network_policy *policy, void *opaque);
    /* So many connections or requests of the guest have no event. May be
     * NULL. */
    void (*network_missed)(guint64 count, void *opaque);
};

enum {
    SESSION_TIMEOUT_MAX_S = 7 * 24 * 3600, /* of a command */
    /* Maximum content of session_write_file(), in bytes. */
    SESSION_WRITE_MAX = 8 << 20,
    SESSION_WARNINGS = 50,
};

#endif
