/* SPDX-License-Identifier: Apache-2.0
 *
 * leftovers - the output pipes of commands that have ended.
 *
 * A background process may still hold the other end. If the shim closed its
 * end, the next write would kill the process with SIGPIPE; if the shim did not
 * read, the process would block once the pipe is full. So the output is read
 * and discarded until the last holder has ended. If there are more than
 * LEFTOVERS_MAX, the oldest is closed.
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

/* Add an fd (taken), which is non-blocking. */
void leftovers_add(struct leftovers *leftovers, int fd);

/* Fill in at most LEFTOVERS_MAX poll entries. Return how many. */
size_t leftovers_poll(const struct leftovers *leftovers, struct pollfd *fds);

/* Discard available output; the entries are those of leftovers_poll(). */
void leftovers_drain(struct leftovers *leftovers, const struct pollfd *fds,
                     size_t count);

#endif
