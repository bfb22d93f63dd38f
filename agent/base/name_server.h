/* SPDX-License-Identifier: Apache-2.0
 *
 * name_server - find the host's name server in resolv.conf(5).
 *
 * The process that runs the guest's network opens no files, so the supervisor
 * passes it the address.
 */
#ifndef AGENT_BASE_NAME_SERVER_H
#define AGENT_BASE_NAME_SERVER_H

#include <stdbool.h>
#include <sys/stat.h>

/* Return the first name server with an IPv4 address as a new string. If the
 * file lists no server, return the host's loopback address; NULL if all
 * addresses are IPv6. */
char *name_server_find(void);

/* Return whether the file has changed since the last call. The caller keeps
 * seen between calls and zeroes it before the first. */
bool name_server_changed(struct stat *seen);

#endif
