/* SPDX-License-Identifier: Apache-2.0
 *
 * name_server - the host's name server, by resolv.conf(5).
 *
 * The process that has the guest's network opens no files, so it is told.
 */
#ifndef AGENT_BASE_NAME_SERVER_H
#define AGENT_BASE_NAME_SERVER_H

#include <stdbool.h>
#include <sys/stat.h>

/* The first one that has an IPv4 address: a new string. Without any, it is the
 * host itself; NULL if all have IPv6 addresses. */
char *name_server_find(void);

/* Whether the file has changed since the last call; seen is kept between
 * calls, zeroed before the first. */
bool name_server_changed(struct stat *seen);

#endif
