/* SPDX-License-Identifier: Apache-2.0
 *
 * fd_reserve - the file descriptors that clients may not use.
 *
 * A client keeps the daemon's descriptors open for as long as it likes: with
 * each node, handle and lock owner. It must not get the last ones, because undo
 * needs some itself: otherwise a client could prevent the undo of its changes
 * by opening files. open(2) returns the lowest free number, so the number of a
 * new descriptor tells how many are in use.
 *
 * Threads: any.
 */
#ifndef DAEMON_FD_RESERVE_H
#define DAEMON_FD_RESERVE_H

#include "interceptor/interceptor.h"

/* Size of the reserve, at most a quarter of the process's limit. */
#define FD_RESERVE 256u

/* Return 0 if a client may keep this new descriptor; unused inodes release
 * theirs for it. Else return -ENFILE, and the caller must close it. */
int fd_reserve_check(struct ic *ic, int fd);

/* The same for a client's connection, without which the client cannot even
 * release other descriptors: connections may use half of the reserve. */
int fd_reserve_check_connection(int fd);

/* Return whether fd is in the reserve. See ic_options: called for each inode
 * that is reopened, so it also notices when descriptors become few. */
bool fd_reserve_has(int fd);

/* Check for room before creating one or two descriptors that a client keeps: an
 * object whose reply would fail must not be created, either. Unused inodes
 * release their descriptors here, so that new ones are below the reserve.
 * Return 0 or -ENFILE; costs nothing while there are many. */
int fd_reserve_room(struct ic *ic);

#endif
