/* SPDX-License-Identifier: Apache-2.0
 *
 * keeper - the part of a file server that stays outside its sandbox.
 *
 * A small process, made before the server locks itself in. It tells the names
 * of processes, which /proc has, and it removes the server's socket files when
 * the server has ended, however that came about. All that it reads from the
 * server is process ids, so a server that a guest has taken over learns the
 * names of processes from it, and nothing else.
 *
 * Threads: any for keeper_process_name(); the rest is for one.
 */
#ifndef COMMON_KEEPER_H
#define COMMON_KEEPER_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

struct keeper;

enum { KEEPER_MAX_SOCKETS = 4 };

/* Before there are threads. sockets: paths of sockets that are there, at most
 * KEEPER_MAX_SOCKETS, ended by NULL; borrowed for the call. NULL and
 * error (ERROR_IO_ERROR). */
struct keeper *keeper_start(const char *const *sockets, GError **error);

/* A new string, or NULL if there is no such process; keeper is a struct keeper.
 * For ic_options.process_name. */
char *keeper_process_name(pid_t pid, void *keeper);

/* False: somebody has killed it, and nobody removes the sockets. */
bool keeper_lives(const struct keeper *keeper);

/* Let it go: it removes the sockets and ends. NULL is allowed. */
void keeper_free(struct keeper *keeper);

#endif
