/* SPDX-License-Identifier: Apache-2.0
 *
 * confine - lock this process in before it reads anything of a guest.
 *
 * A guest that got it to run code of its own would get the sockets that it has
 * anyway to make, and so past the policy; but not into the host:
 *
 *   capabilities  none
 *   Landlock      no path, no abstract socket, no signal (landlock(7))
 *   seccomp       no file is opened, nothing listens, TCP and UDP sockets only
 *   limits        of memory and open files; no core is dumped
 */
#ifndef NET_CONFINE_H
#define NET_CONFINE_H

#include <glib.h>

#include "common/sandbox.h"

/* How many files confine() lets be open. */
unsigned confine_files(void);

/* action: what a forbidden system call does. Before there are threads, when all
 * that has to be opened is. */
gboolean confine(enum sandbox_action action, GError **error);

#endif
