/* SPDX-License-Identifier: Apache-2.0
 *
 * machine - a virtual machine over working folders: QEMU and the daemons.
 *
 * Starts both, sees to it that the guest has mounted the folders, and ends
 * them. One object is one run; when it has failed it only remains to be
 * stopped and freed.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_VM_MACHINE_H
#define AGENT_VM_MACHINE_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/vm/backends.h"
#include "agent/vm/guest_channel.h"
#include "agent/vm/network.h"
#include "agent/vm/session_config.h"

struct machine;

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
    void (*output)(gint64 id, const char *stream, const char *data, size_t len,
                   void *opaque);
    void (*completed)(gint64 id, const struct guest_end *end, void *opaque);
    void (*refused)(gint64 id, const char *message, void *opaque);
};

/* Start a machine. config is borrowed for its life. NULL and error: as in
 * session_config.h and guest_image.h, ERROR_VM_LAUNCH_FAILED,
 * ERROR_BACKEND_FAILED. */
struct machine *machine_new(const struct session_config *config,
                            const char *log_level,
                            const struct machine_callbacks *callbacks,
                            void *opaque, GError **error);

/* What still runs is killed. NULL is allowed. */
void machine_free(struct machine *machine);

/* End it in order, or at once; "stopped" follows. */
void machine_stop(struct machine *machine);
void machine_kill(struct machine *machine);

/* Let the guest stand still, or go on. */
void machine_hold(struct machine *machine, bool hold);
/* Whether QEMU says that it does. */
bool machine_is_held(const struct machine *machine);

/* Borrowed; valid between "ready" and "failed" or machine_stop(). */
struct backends *machine_backends(struct machine *machine);
struct guest_channel *machine_guest(struct machine *machine);
/* NULL if the guest has no network card, or it is gone. */
struct network *machine_network(struct machine *machine);

/* How many of the guest's messages were ignored. */
guint64 machine_complaints(const struct machine *machine);

/* Whether the guest's shim can give a command input. */
bool machine_takes_input(const struct machine *machine);

/* The path of the machine's own disk, which outlives it. Borrowed; NULL: what
 * it writes besides the folders is lost with it. */
const char *machine_disk(const struct machine *machine);

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

/* Borrowed. */
const struct machine_times *machine_times(const struct machine *machine);

enum accel machine_accel(const struct machine *machine);
/* From machine_new() to "ready". */
gint64 machine_boot_ms(const struct machine *machine);
#endif
