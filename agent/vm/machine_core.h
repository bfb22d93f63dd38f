/* SPDX-License-Identifier: Apache-2.0
 *
 * machine_core - the machine object, private to the files that implement
 * machine.h.
 */
#ifndef AGENT_VM_MACHINE_CORE_H
#define AGENT_VM_MACHINE_CORE_H

#include "agent/vm/backends.h"
#include "agent/vm/guest_ports.h"
#include "agent/vm/launch.h"
#include "agent/vm/machine_events.h"
#include "agent/vm/network.h"
#include "agent/vm/published_ports.h"
#include "agent/vm/session_config.h"
#include "agent/vm/vm.h"
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

struct machine {
    enum stage stage;
    const struct session_config *config;
    char *log_level;
    const struct machine_callbacks *callbacks;
    void *opaque;

    struct launch *launch;
    /* Implemented in machine.c. */
    gboolean (*start_backends)(struct machine *machine, GError **error);
    enum accel accel;
    bool started_again; /* with TCG */

    /* Both objects outlive their processes, because commands hold pointers into
     * them; these flags say whether the process runs. */
    struct backends *backends;
    struct vm *vm;
    struct network *network;
    struct published_ports *ports;
    struct guest_ports guest_ports;
    bool vm_runs;
    unsigned mounted; /* number of folders that the guest has mounted */
    bool setup_asked; /* the guest owes an answer */
    bool lost[SESSION_MAX_DIRECTORIES]; /* folders to remount */
    unsigned losses;                    /* since first_loss, monotonic, us */
    gint64 first_loss;
    struct machine_times times;
    guint boot_timer, watchdog, blame_timer, restart_source, stopped_source;
};

/* Call "failed", once, with this error (borrowed). */
void machine_fail(struct machine *machine, const GError *error);
void machine_fail_with(struct machine *machine, enum error_code code,
                       const char *text);

/* Send event.warning; code identifies the warning and may be NULL. */
void machine_warn(struct machine *machine, const char *code, const char *text);

void machine_clear_timers(struct machine *machine);

#endif
