/* SPDX-License-Identifier: Apache-2.0
 *
 * closer - closes what takes long to be closed, in a thread of its own.
 *
 * The last fd of a file that has no name any more frees all that the file had:
 * for some GiB that is a second, in which a server's thread would answer
 * nobody. So what was removed is not free at once: who tells how much is free
 * adds closer_bytes(), and who finds the disk full, or has no fds, waits.
 */
#ifndef INTERCEPTOR_INODE_CLOSER_H
#define INTERCEPTOR_INODE_CLOSER_H

#include <stdbool.h>
#include <stdint.h>

struct closer;

struct closer *closer_new(void);

/* When all that it was given is closed. */
void closer_free(struct closer *closer);

/* Any thread: the fd (taken) is closed soon, which frees so much; at once where
 * that cannot be, as too many wait already, say. */
void closer_take(struct closer *closer, int fd, int64_t bytes);

/* Of those that are not closed yet. */
int64_t closer_bytes(struct closer *closer);

/* Any thread: when all that it was given before is closed; false: nothing was
 * left. */
bool closer_wait(struct closer *closer);

#endif
