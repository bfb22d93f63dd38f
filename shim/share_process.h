/* SPDX-License-Identifier: Apache-2.0
 *
 * share_process - what the processes of a share do (shares.h), each after a
 * fork(2) of the shim.
 *
 * Each reports by the pipe "status", whose other end the shim has, and ends.
 */
#ifndef SHIM_SHARE_PROCESS_H
#define SHIM_SHARE_PROCESS_H

#include <jansson.h>

#include "shim/share.h"

/* The first byte in the pipe. BAD_NEWS is followed by a text, in all at most
 * MAX_NEWS bytes. */
enum { GOOD_NEWS = '+', BAD_NEWS = '!', MAX_NEWS = 400 };

/* Carry a 9P mount; good news when it is mounted, bad news at its end. */
_Noreturn void share_process_pump(const struct share *share, int status);

/* Mount over virtio-fs. */
_Noreturn void share_process_mount(const struct share *share, int status);

_Noreturn void share_process_unmount(const struct share *share, bool force,
                                     int status);

/* names_refresh(). */
_Noreturn void share_process_refresh(const struct share *share, bool unused,
                                     const json_t *names, int status);

#endif
