/* SPDX-License-Identifier: Apache-2.0
 *
 * confine - locks this process in before it reads data of a guest.
 *
 * A guest that gains code execution here can make any of the sockets that this
 * process could, and thus bypass the policy; but it cannot get into the host:
 *
 *   capabilities  none
 *   Landlock      no path, no abstract socket, no signal (landlock(7))
 *   seccomp       opens no file, binds no socket, only TCP and UDP; accepts
 *                 connections only for the published ports (inbound.h)
 *   limits        memory and open files; no core dumps
 */
#ifndef NET_CONFINE_H
#define NET_CONFINE_H

#include <glib.h>

#include "common/sandbox.h"

/* Return the limit of open files that confine() sets. */
unsigned confine_files(void);

/* action: the reaction to a forbidden system call. Call it before any thread
 * starts, when all files are open. FALSE and error on failure. */
gboolean confine(enum sandbox_action action, GError **error);

#endif
