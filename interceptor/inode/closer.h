/* SPDX-License-Identifier: Apache-2.0
 *
 * closer - close expensive fds in a thread of their own.
 *
 * Closing the last fd of a file without a name frees all its data: a second for
 * some GiB, during which a server's thread would answer no request. So the
 * space of a removed file is not free at once: a caller that reports free space
 * adds closer_bytes(), and a caller that finds the disk full, or has no fds,
 * calls closer_wait().
 */
#ifndef INTERCEPTOR_INODE_CLOSER_H
#define INTERCEPTOR_INODE_CLOSER_H

#include <stdbool.h>
#include <stdint.h>

struct closer;

struct closer *closer_new(void);

/* Return once every fd is closed. NULL is allowed. */
void closer_free(struct closer *closer);

/* Close the fd (ownership taken) soon, which frees this many bytes; at once if
 * the thread cannot take it, for example because too many fds wait. Any thread.
 */
void closer_take(struct closer *closer, int fd, int64_t bytes);

/* Return the bytes of the fds that are not closed yet. */
int64_t closer_bytes(struct closer *closer);

/* Wait until every fd taken before the call is closed. Returns false if none
 * was left. Any thread. */
bool closer_wait(struct closer *closer);

#endif
