/* SPDX-License-Identifier: Apache-2.0
 *
 * local_hosts - the file /etc/hosts of a sandbox with the host's system.
 *
 * As in the guest images, the sandbox's own name is an address of its loopback
 * (hosts(5)): sudo(8), and programs that call gethostbyname(gethostname()),
 * fail or wait without it.
 */
#ifndef AGENT_LOCAL_LOCAL_HOSTS_H
#define AGENT_LOCAL_LOCAL_HOSTS_H

/* The name of each sandbox (uname(2)). */
#define LOCAL_HOST_NAME "stepback"

/* Return the text, as a new string: that of the host's file at this real path,
 * and the sandbox's name. Without a path, or if the file cannot be read or has
 * over 1 MiB: only what the sandbox needs for itself. */
char *local_hosts_text(const char *path);

#endif
