/* SPDX-License-Identifier: Apache-2.0
 *
 * fd_reserve - the file descriptors that no client may have.
 *
 * A client holds descriptors of ours for as long as it likes: with each node,
 * handle and owner of locks. It must not get the last ones, as undo needs some
 * itself, and a client that wants to keep its changes would only have to open
 * files. Descriptors are numbered from the lowest that is free (open(2)), so
 * the number of a new one says how many there are.
 *
 * Threads: any.
 */
#ifndef DAEMON_FD_RESERVE_H
#define DAEMON_FD_RESERVE_H

#include "interceptor/interceptor.h"

/* Of so many that the process may have, but a quarter at most. */
#define FD_RESERVE 256u

/* 0 if a client may keep this new descriptor; inodes that are not used give up
 * theirs for it. Else -ENFILE, and it is to be closed. */
int fd_reserve_check(struct ic *ic, int fd);

/* Likewise for a connection of a client, without which it cannot even give
 * others back: these may have half of the reserve. */
int fd_reserve_check_connection(int fd);

/* Is its number one of those that no client may have? See ic_options: asked of
 * each inode that is opened again, it sees when they become few, too. */
bool fd_reserve_has(int fd);

/* Before one or two are made that a client keeps: is there room? What could not
 * be answered then must not be made, either. Inodes that are not used give up
 * theirs here, so that the new ones are below the reserve. 0 or -ENFILE; free
 * while there are many. */
int fd_reserve_room(struct ic *ic);

#endif
