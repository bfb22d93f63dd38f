/* SPDX-License-Identifier: Apache-2.0
 *
 * bus - the socket of the session bus's proxy (agent/local/local_bus.h), which
 * bubblewrap puts into the sandbox from LOCAL_BUS.
 */
#ifndef LOCAL_BUS_MOUNT_H
#define LOCAL_BUS_MOUNT_H

/* Wait until a byte in this pipe (taken) says that the socket is there, and
 * give it to the sandbox's user alone. Called before new namespaces are
 * entered. Exit on failure. */
void bus_await(const char *path, int ready);

/* Mount the socket, opened by namespaces_open_tree() (taken), at LOCAL_BUS.
 * Exit on failure. */
void bus_mount(int tree);

#endif
