/* SPDX-License-Identifier: Apache-2.0
 *
 * fd_message - bytes and file descriptors over a socket of AF_UNIX (SCM_RIGHTS,
 * unix(7)).
 */
#ifndef COMMON_FD_MESSAGE_H
#define COMMON_FD_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

/* The kernel's SCM_MAX_FD. */
enum { FD_MESSAGE_MAX = 253 };

/* Send length bytes, at least one, with count file descriptors (borrowed; at
 * most FD_MESSAGE_MAX). flags: of sendmsg(2); there is never a SIGPIPE. Return
 * 0 or -errno. */
int fd_message_send(int socket, const void *data, size_t length, const int *fds,
                    size_t count, int flags);

/* Room for file descriptors. */
struct fd_room {
    int *fds;
    size_t max;
    size_t count; /* of those in use */
};

/* Receive up to size bytes. The file descriptors that come with them, also with
 * the end, are close-on-exec; the caller owns them. They go behind those in
 * room, and surplus ones are closed; NULL: none are wanted (MSG_PEEK). flags:
 * of recvmsg(2). Return the number of bytes, for MSG_TRUNC that of the whole
 * message; 0 at the end; or -errno. */
ssize_t fd_message_receive(int socket, void *data, size_t size, int flags,
                           struct fd_room *room);

#endif
