/* SPDX-License-Identifier: Apache-2.0
 *
 * leftovers - the output pipes of commands that have ended.
 *
 * A background process may still hold the other end. Were ours closed, its
 * next line would kill it with SIGPIPE; were ours left unread, it would block
 * once the pipe is full. So what comes is read and thrown away until the last
 * holder is gone. When there are more than LEFTOVERS_MAX, the oldest is
 * closed after all.
 */
#ifndef SHIM_LEFTOVERS_H
#define SHIM_LEFTOVERS_H

#include <poll.h>
#include <stddef.h>

#define LEFTOVERS_MAX 64

struct leftovers {
    int fds[LEFTOVERS_MAX]; /* oldest first */
    size_t count;
};

/* Takes the fd, which does not block. */
void leftovers_add(struct leftovers *leftovers, int fd);

/* Fill in LEFTOVERS_MAX poll entries at most. Returns how many. */
size_t leftovers_poll(const struct leftovers *leftovers, struct pollfd *fds);

/* Discard what came; the entries are leftovers_poll()'s. */
void leftovers_drain(struct leftovers *leftovers, const struct pollfd *fds,
                     size_t count);

#endif
