/* SPDX-License-Identifier: Apache-2.0
 *
 * leftovers - output pipes that outlive their command.
 *
 * A process left in the background still holds its command's pipes. Were they
 * closed, its next line of output would kill it by SIGPIPE; were they not
 * read, it would stop when the pipe is full. So they are read and the bytes
 * thrown away. Of more than LEFTOVERS_MAX the oldest are closed after all.
 */
#ifndef SHIM_LEFTOVERS_H
#define SHIM_LEFTOVERS_H

#include <poll.h>

enum { LEFTOVERS_MAX = 64 };

/* Take a non-blocking pipe (or -1, which is ignored). */
void leftovers_add(int fd);

/* Fill in what to poll; the number, at most LEFTOVERS_MAX. */
int leftovers_poll(struct pollfd *polls);

/* Read those of polls (as filled in) that are ready. */
void leftovers_drain(const struct pollfd *polls, int count);

#endif
