/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_events - what a machine tells of itself.
 */
#ifndef AGENT_VM_MACHINE_EVENTS_H
#define AGENT_VM_MACHINE_EVENTS_H

#include <glib.h>
#include <jansson.h>

#include "agent/vm/guest_channel.h"

/* The code of the event.warning that says that the guest is emulated. */
#define MACHINE_SLOW "no_kvm"

/* And of the one that a folder had to be mounted again. */
#define MACHINE_RECONNECTS "share_lost"

struct machine_callbacks {
    /* The guest is up and has the folders mounted. */
    void (*ready)(void *opaque);
    /* It could not be started, or is gone (the error says why; codes 2xxx).
     * Called at most once, and never after machine_stop(). */
    void (*failed)(const GError *error, void *opaque);
    /* After machine_stop(): no process of it is left. It may free the
     * machine. */
    void (*stopped)(void *opaque);
    /* An event for the frontend; payload is taken. */
    void (*event)(const char *type, json_t *payload, void *opaque);
    /* An event of a folder's undo engine; payload (borrowed) is an object. */
    void (*folder_event)(unsigned index, const char *type, json_t *payload,
                         void *opaque);
    /* What the guest says of commands, as in guest_channel.h. */
    void (*output)(const struct command_output *output, void *opaque);
    void (*completed)(gint64 id, const struct command_end *end, void *opaque);
    void (*refused)(gint64 id, const char *message, void *opaque);
};

/* When things were: monotonic, in us, 0 if they have not been; and what the
 * guest said of its own start, in ms since its kernel began, 0 if it did not.
 */
struct machine_times {
    gint64 started;  /* machine_new() */
    gint64 launched; /* the daemons were ready, and QEMU was started */
    gint64 hello;    /* the shim spoke */
    gint64 ready;    /* the folders were mounted */
    gint64 ended;    /* QEMU had ended */
    gint64 init_ms, shim_ms, uptime_ms;
};

#endif
