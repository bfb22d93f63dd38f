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
#include "agent/vm/machine_events.h"
#include "agent/vm/network.h"
#include "agent/vm/session_config.h"

struct machine;

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

/* The path of the machine's own disk, which outlives it. Borrowed; NULL: what
 * it writes besides the folders is lost with it. */
const char *machine_disk(const struct machine *machine);

/* Borrowed. */
const struct machine_times *machine_times(const struct machine *machine);

enum accel machine_accel(const struct machine *machine);
/* From machine_new() to "ready". */
gint64 machine_boot_ms(const struct machine *machine);
#endif
