/* SPDX-License-Identifier: Apache-2.0
 *
 * machine - a virtual machine over working folders: QEMU and the daemons.
 *
 * Starts them, makes the guest mount the folders, and ends them. One object is
 * one run; a failed one can only be stopped and freed.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_VM_MACHINE_H
#define AGENT_VM_MACHINE_H

#include <glib.h>
#include <stdbool.h>

#include "agent/vm/backends.h"
#include "agent/vm/bulk_port.h"
#include "agent/vm/guest_channel.h"
#include "agent/vm/guest_ports.h"
#include "agent/vm/machine_events.h"
#include "agent/vm/network.h"
#include "agent/vm/published_ports.h"
#include "agent/vm/session_config.h"

struct machine;

/* Start a machine. config is borrowed for the object's life. On failure return
 * NULL with the errors of session_config.h and guest_image.h,
 * ERROR_VM_LAUNCH_FAILED or ERROR_BACKEND_FAILED. */
struct machine *machine_new(const struct session_config *config,
                            const char *log_level,
                            const struct machine_callbacks *callbacks,
                            void *opaque, GError **error);

/* Free the machine; running processes are killed. NULL is allowed. */
void machine_free(struct machine *machine);

/* End the machine: in order, or at once. "stopped" follows. */
void machine_stop(struct machine *machine);
void machine_kill(struct machine *machine);

/* Pause or resume the guest's processors. */
void machine_hold(struct machine *machine, bool hold);
/* Return whether QEMU has reported the pause. */
bool machine_is_held(const struct machine *machine);

/* Return what the start or the end waits for, for people: a static string, or
 * NULL. */
const char *machine_waits_for(const struct machine *machine);

/* Borrowed; valid between "ready" and "failed" or machine_stop(). */
struct backends *machine_backends(struct machine *machine);
struct guest_channel *machine_guest(struct machine *machine);
struct bulk_port *machine_bulk(struct machine *machine);
/* NULL if the guest has no network card, or the network process has ended. */
struct network *machine_network(struct machine *machine);

/* Borrowed: the ports of the host that lead to the guest, and those at which
 * the guest listens. */
struct published_ports *machine_ports(struct machine *machine);
const struct guest_ports *machine_guest_ports(const struct machine *machine);

/* Return the path of a new file in the machine's runtime folder, which is
 * private and removed with the machine: a new string. name: runtime_dir.h. */
char *machine_runtime_path(const struct machine *machine, const char *name);

/* Return how many of the guest's messages were ignored. */
guint64 machine_complaints(const struct machine *machine);

/* Return the path of the machine's persistent disk. Borrowed; NULL: everything
 * written outside the folders is lost when the machine ends. */
const char *machine_disk(const struct machine *machine);

const struct machine_times *machine_times(const struct machine *machine);

enum accel machine_accel(const struct machine *machine);
/* From machine_new() to "ready", in ms. */
gint64 machine_boot_ms(const struct machine *machine);
#endif
