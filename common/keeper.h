/* SPDX-License-Identifier: Apache-2.0
 *
 * keeper - the part of a file server that stays outside its sandbox.
 *
 * A small process, started before the server enters the sandbox. It looks up
 * names of processes in /proc, and it removes the server's socket files when
 * the server has exited for any reason. The only data that it reads from the
 * server is process ids, so a server that a guest has taken over can learn
 * names of processes from it, and nothing else.
 *
 * Threads: any for keeper_process_name(); one for the rest.
 */
#ifndef COMMON_KEEPER_H
#define COMMON_KEEPER_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

struct keeper;

enum { KEEPER_MAX_SOCKETS = 4 };

/* Start the keeper, before any thread starts. sockets: paths of existing
 * sockets, at most KEEPER_MAX_SOCKETS, NULL-terminated; borrowed for the call.
 * NULL and error (ERROR_IO_ERROR) on failure. */
struct keeper *keeper_start(const char *const *sockets, GError **error);

/* Return a new string, or NULL if there is no such process; keeper is a struct
 * keeper. For ic_options.process_name. */
char *keeper_process_name(pid_t pid, void *keeper);

/* Return false if the keeper was killed, in which case the sockets remain. */
bool keeper_lives(const struct keeper *keeper);

/* End the keeper: it removes the sockets and exits. Waits for that, at most 5
 * s. NULL is allowed. */
void keeper_free(struct keeper *keeper);

#endif
