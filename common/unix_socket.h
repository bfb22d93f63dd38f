/* SPDX-License-Identifier: Apache-2.0
 *
 * unix_socket - listening Unix sockets in the file system.
 */
#ifndef COMMON_UNIX_SOCKET_H
#define COMMON_UNIX_SOCKET_H

#include <glib.h>
#include <sys/types.h>

/* Listen on a new stream socket at path (mode 0600, close-on-exec). A socket
 * file on which nobody listens any more is replaced; one in use, and a file
 * that is no socket, are errors. The new fd, or -1 and error (ERROR_BUSY,
 * ERROR_IO_ERROR). */
int unix_socket_listen(const char *path, GError **error);

/* Let the members of a group (a name) connect to it, too. FALSE and error
 * (ERROR_INVALID_FIELD, ERROR_IO_ERROR). */
gboolean unix_socket_share(const char *path, const char *group, GError **error);

/* A group's number by its name, if ret_gid is not NULL. FALSE and error
 * (ERROR_INVALID_FIELD): there is none. */
gboolean unix_socket_find_group(const char *group, gid_t *ret_gid,
                                GError **error);

/* Remove the socket file, if it is a socket. */
void unix_socket_remove(const char *path);

#endif
