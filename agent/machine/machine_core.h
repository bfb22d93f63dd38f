/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_core - the machine object, private to the files that implement
 * machine.h and its kinds.
 */
#ifndef AGENT_MACHINE_MACHINE_CORE_H
#define AGENT_MACHINE_MACHINE_CORE_H

#include "agent/machine/backends.h"
#include "agent/machine/guest_ports.h"
#include "agent/machine/guest_trust.h"
#include "agent/machine/upstream_proxy.h"
#include "agent/machine/launch.h"
#include "agent/machine/machine_events.h"
#include "agent/machine/machine_kind.h"
#include "agent/machine/network.h"
#include "agent/machine/published_ports.h"
#include "agent/machine/session_config.h"
#include "common/errors.h"

enum stage {
    BACKEND,
    BOOTING,
    MOUNTING,
    RUNNING,
    RESTARTING,
    FAILED,
    STOPPING,
};

/* A folder in the guest (machine_folders.h). */
struct machine_folder {
    struct machine *machine;
    unsigned index; /* in config->directories */
    unsigned slot;  /* machine_kind.h */
    enum {
        FOLDER_PLUGGING, /* or its daemon is starting */
        FOLDER_PLUGGED,
        FOLDER_MOUNTING,
        FOLDER_MOUNTED,
        FOLDER_UNMOUNTING,
        FOLDER_LEAVING, /* its device is unplugged, its daemon ends */
    } state;
    bool lost; /* the connection; it must be remounted */
};

/* The pending request to add or remove a folder (machine_change.h). */
struct machine_change {
    struct machine_folder *folder; /* NULL: none */
    bool force;                    /* of a removal */
    void (*done)(const GError *error, void *opaque);
    void *opaque;
    GError *error; /* why an addition is being given up */
    guint timer;
};

struct machine {
    enum stage stage;
    const struct session_config *config;
    char *log_level;
    const struct machine_callbacks *callbacks;
    void *opaque;

    const struct machine_kind *kind;
    void *state; /* of the kind */

    struct launch *launch;
    /* This object and the guest's outlive their processes, because commands
     * hold pointers into them. */
    struct backends *backends;
    int tap; /* the guest's network card; -1: it takes a socket */
    struct network *network;
    struct guest_trust *trust;
    struct upstream_proxy *upstream;
    struct published_ports *ports;
    struct guest_ports guest_ports;
    bool runs;          /* the guest's process does */
    unsigned setups;    /* answers to guest_channel_setup() that are due */
    bool is_mounted;    /* and becomes ready with the last of them */
    bool intercepted;   /* the guest got the authority's certificate */
    bool renewal_asked; /* likewise */
    struct machine_folder *folders[SESSION_MAX_DIRECTORIES];
    unsigned n_folders;
    struct machine_change change;
    void (*mounted)(struct machine *machine); /* all folders are mounted */
    unsigned losses; /* since first_loss, monotonic, us */
    gint64 first_loss;
    struct machine_times times;
    guint boot_timer, watchdog, blame_timer, restart_source, stopped_source;
};

/* Call "failed", once, with this error (borrowed). */
void machine_fail(struct machine *machine, const GError *error);
void machine_fail_with(struct machine *machine, enum error_code code,
                       const char *text);

/* The same for a failure of the guest: while it starts, its kind may restart it
 * instead. */
void machine_fail_guest(struct machine *machine, enum error_code code,
                        const char *text);

/* Send event.warning; code identifies the warning and may be NULL. */
void machine_warn(struct machine *machine, const char *code, const char *text);

/* Of a machine that stops: end its processes one after the other, from the end
 * of the one before. */
void machine_stop_further(struct machine *machine);

/* ---- for a kind ---------------------------------------------------------- */

/* Start the file servers: the stage BACKEND begins. */
gboolean machine_start_backends(struct machine *machine, GError **error);

/* Start the boot timeout. */
void machine_start_timeout(struct machine *machine);

/* The guest's process has ended, with this reason. */
void machine_ended(struct machine *machine, const char *reason);

/* The guest closed the control channel: no answer will come. */
void machine_lost_guest(struct machine *machine);

void machine_clear_timers(struct machine *machine);

#endif
