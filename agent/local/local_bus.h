/* SPDX-License-Identifier: Apache-2.0
 *
 * local_bus - the filtered session bus of a local sandbox: a run of
 * xdg-dbus-proxy(1) on the host, between its socket, which the sandbox has, and
 * the bus.
 *
 * The bus must be a socket that only this user can replace. The proxy reads the
 * sandbox's messages with the user's rights; its files and memory are limited.
 * It ends with the object and, by the kernel, with this process.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_LOCAL_LOCAL_BUS_H
#define AGENT_LOCAL_LOCAL_BUS_H

#include <glib.h>
#include <sys/types.h>

#include "agent/machine/session_config.h"

#define LOCAL_BUS_PROXY "xdg-dbus-proxy"

struct local_bus;

/* Find the program and the bus, if the configuration has rules; NULL if
 * not. Nothing is started yet. On failure return FALSE with
 * ERROR_VM_LAUNCH_FAILED or ERROR_INVALID_DIRECTORY, and the remedy. */
gboolean local_bus_find(const struct session_config *config,
                        struct local_bus **ret_bus, GError **error);
void local_bus_free(struct local_bus *bus);

/* Check that no folder of the configuration has the program or the bus; bus:
 * NULL is allowed. On failure return FALSE with ERROR_INVALID_DIRECTORY. */
gboolean local_bus_check_shares(const struct local_bus *bus,
                                const struct session_config *config,
                                GError **error);

/* Start the proxy, which makes its socket at this path; on failure as
 * child_spawn(). */
gboolean local_bus_start(struct local_bus *bus, const char *path,
                         GError **error);

/* Return its pid, or 0 if it has ended. */
pid_t local_bus_pid(const struct local_bus *bus);

/* Borrowed; NULL for no bus: the path, and the fd from which a byte can be read
 * once the socket is there. */
const char *local_bus_path(const struct local_bus *bus);
int local_bus_ready_fd(const struct local_bus *bus);

#endif
