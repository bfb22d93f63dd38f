/* SPDX-License-Identifier: Apache-2.0
 *
 * unix_socket - listening Unix sockets in the file system.
 */
#ifndef COMMON_UNIX_SOCKET_H
#define COMMON_UNIX_SOCKET_H

#include <glib.h>
#include <sys/types.h>

/* Listen on a new stream socket at path (mode 0600, close-on-exec). A stale
 * socket file is replaced; a socket in use, or a file that is not a socket, is
 * an error. Return the new fd, or -1 and error (ERROR_BUSY, ERROR_IO_ERROR). */
int unix_socket_listen(const char *path, GError **error);

/* Connect to a stream socket (close-on-exec); flags: 0 or SOCK_NONBLOCK, which
 * returns -EAGAIN while the listener's queue is full (connect(2)). Return the
 * new fd or -errno. */
int unix_socket_connect(const char *path, int flags);

/* Make a pair of sockets (close-on-exec); type: SOCK_STREAM or SOCK_SEQPACKET.
 * FALSE and error with this code on failure. */
gboolean unix_socket_pair(int type, int code, int ret_pair[2], GError **error);

/* Also let the members of a group (a name) connect. FALSE and error
 * (ERROR_INVALID_FIELD, ERROR_IO_ERROR) on failure. */
gboolean unix_socket_share(const char *path, const char *group, GError **error);

/* Look up a group's id by name; ret_gid may be NULL. FALSE and error
 * (ERROR_INVALID_FIELD) if there is none. */
gboolean unix_socket_find_group(const char *group, gid_t *ret_gid,
                                GError **error);

/* Remove the socket file, if it is a socket. */
void unix_socket_remove(const char *path);

#endif
