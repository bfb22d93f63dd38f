/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_events - the events of a machine.
 */
#ifndef AGENT_MACHINE_MACHINE_EVENTS_H
#define AGENT_MACHINE_MACHINE_EVENTS_H

#include <glib.h>

#include "agent/base/relayed.h"
#include "agent/machine/guest_channel.h"
#include "agent/machine/network_asks.h"

/* The event.warning code for an emulated guest. */
#define MACHINE_SLOW "no_kvm"

/* The event.warning code for a machine that could not start from its template,
 * or whose template cannot be made. */
#define MACHINE_TEMPLATE "template"

/* The same for a machine of the pool. */
#define MACHINE_POOL "pool"

/* The event.warning code for a remounted folder. */
#define MACHINE_RECONNECTS "share_lost"

struct machine_callbacks {
    /* The guest is up and has mounted the folders. */
    void (*ready)(void *opaque);
    /* The machine could not be started, or has ended (the error has the reason;
     * codes 2xxx). Called at most once, and never after machine_stop(). */
    void (*failed)(const GError *error, void *opaque);
    /* After machine_stop(): all processes of the machine have ended. The
     * callback may free the machine. */
    void (*stopped)(void *opaque);
    /* An event for the frontend; payload is taken. */
    void (*event)(const char *type, struct json_t *payload, void *opaque);
    /* As in network.h; may be NULL. */
    void (*network_missed)(guint64 count, void *opaque);
    /* As in network.h; not called once the machine stops. */
    void (*asked)(const struct network_question *question, void *opaque);
    void (*ask_withdrawn)(gint64 id, void *opaque);
    /* An event of a folder's undo engine; payload (borrowed) is an object. */
    void (*folder_event)(unsigned index, const char *type,
                         struct json_t *payload, void *opaque);
    /* The guest's messages about commands, as in guest_channel.h. */
    void (*output)(const struct command_output *output, void *opaque);
    void (*completed)(gint64 id, const struct command_end *end, void *opaque);
    void (*input_taken)(gint64 id, size_t bytes, void *opaque);
    void (*refused)(gint64 id, const char *message, void *opaque);
    void (*step_request)(const struct guest_step_request *request,
                         void *opaque);
    void (*processes)(const struct guest_processes *processes, void *opaque);
};

/* Timestamps: monotonic, in us, 0 if not reached; and the guest's report of its
 * own start, in ms since its kernel began, 0 if missing. */
struct machine_times {
    gint64 started;  /* machine_new() */
    gint64 mounted;  /* the folders' mounts were made; 0: the guest does that */
    gint64 launched; /* the daemons were ready, and the guest was started */
    gint64 hello;    /* the shim's hello */
    gint64 renewed;  /* the guest had random numbers and an id of its own */
    gint64 ready;    /* the folders were mounted */
    gint64 ended;    /* the guest had ended */
    gint64 init_ms, shim_ms, uptime_ms;
};

#endif
