/* SPDX-License-Identifier: Apache-2.0
 *
 * listener - a Unix socket in the file system whose clients are accepted on the
 * main context.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_BASE_LISTENER_H
#define AGENT_BASE_LISTENER_H

#include <glib.h>

struct listener;

/* A client has connected; the fd (close-on-exec) is taken. */
typedef void (*listener_accept)(int fd, void *opaque);

/* Listen at path (mode 0600). component is of log.h, static. On failure return
 * NULL with the errors of unix_socket_listen(). */
struct listener *listener_new(const char *path, const char *component,
                              listener_accept accept, void *opaque,
                              GError **error);

/* Remove the socket; clients stay connected. NULL is allowed. */
void listener_free(struct listener *listener);

#endif
