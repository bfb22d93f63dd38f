/* SPDX-License-Identifier: Apache-2.0
 *
 * machine - a guest over working folders, with the daemons that it needs.
 *
 * Starts them and ends them; machine_kind.h has what the guest runs in. One
 * object is one run; a failed one can only be stopped and freed.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MACHINE_MACHINE_H
#define AGENT_MACHINE_MACHINE_H

#include <glib.h>
#include <stdbool.h>

#include "agent/machine/backends.h"
#include "agent/machine/bulk_port.h"
#include "agent/machine/guest_channel.h"
#include "agent/machine/guest_ports.h"
#include "agent/machine/machine_events.h"
#include "agent/machine/network.h"
#include "agent/machine/published_ports.h"
#include "agent/machine/session_config.h"

struct machine;
struct machine_kind;

/* Start a machine of this kind. config is borrowed for the object's life. On
 * failure return NULL with the errors of session_config.h and guest_image.h,
 * ERROR_VM_LAUNCH_FAILED or ERROR_BACKEND_FAILED. */
struct machine *machine_new(const struct machine_kind *kind,
                            const struct session_config *config,
                            const char *log_level,
                            const struct machine_callbacks *callbacks,
                            void *opaque, GError **error);

/* Free the machine; running processes are killed. NULL is allowed. */
void machine_free(struct machine *machine);

/* End the machine: in order, or at once. "stopped" follows. */
void machine_stop(struct machine *machine);
void machine_kill(struct machine *machine);

/* Pause or resume the guest. */
void machine_hold(struct machine *machine, bool hold);
/* Return whether the guest has paused. */
bool machine_is_held(const struct machine *machine);

/* Return whether the host counts the processes that were killed because memory
 * was used up; otherwise the guest does (struct command_end). */
bool machine_counts_oom_kills(const struct machine *machine);

/* Return how many processes of the guest the host's kernel has killed so far
 * because the guest's memory was used up. */
guint64 machine_oom_kills(const struct machine *machine);

/* Return how many users a local sandbox has, or 0: the guest has its own. */
guint64 machine_ids(const struct machine *machine);

/* Return what the start or the end waits for, for people: a static string, or
 * NULL. */
const char *machine_waits_for(const struct machine *machine);

/* The answer to a request; error (borrowed) is NULL on success. The callback
 * must not free the machine. */
typedef void (*machine_done)(const GError *error, void *opaque);

/* Add the folder that the caller has appended to the configuration: start its
 * daemon, plug it in, and have the guest mount it. done follows, at the latest
 * with "stopped"; after an error the folder is not part of the machine. On
 * failure return FALSE without a call of done, with ERROR_BUSY,
 * ERROR_TOO_MANY_DIRECTORIES or ERROR_BACKEND_FAILED. */
gboolean machine_add_folder(struct machine *machine, machine_done done,
                            void *opaque, GError **error);

/* Remove a folder: unmount it in the guest, force: even if a process uses it;
 * unplug it, and end its daemon. done follows; on success the machine's later
 * folders have moved down, and done must move the configuration's. On failure
 * return FALSE with ERROR_BUSY. */
gboolean machine_remove_folder(struct machine *machine, unsigned index,
                               bool force, machine_done done, void *opaque,
                               GError **error);

/* Borrowed; valid between "ready" and "failed" or machine_stop(). */
struct backends *machine_backends(struct machine *machine);
struct guest_channel *machine_guest(struct machine *machine);
struct bulk_port *machine_bulk(struct machine *machine);
/* NULL if the guest has no network, or the network process has ended. */
struct network *machine_network(struct machine *machine);

/* Have the guest trust what the network policy of its configuration needs, now
 * that it has changed (guest_trust.h). */
void machine_update_trust(struct machine *machine);

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

/* ACCEL_AUTO if the machine has no processors of its own. */
enum accel machine_accel(const struct machine *machine);
/* Return whether the guest has continued from a saved state. */
bool machine_is_restored(const struct machine *machine);

/* Return whether it was taken from the pool. */
bool machine_is_pooled(const struct machine *machine);

/* Return the pid of another process of this user whose child the guest's
 * process is; 0: it is a child of this process. */
GPid machine_holder(const struct machine *machine);
/* From machine_new() to "ready", in ms. */
gint64 machine_boot_ms(const struct machine *machine);
#endif
