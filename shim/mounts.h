/* SPDX-License-Identifier: Apache-2.0
 *
 * mounts - mount what the host asks for, beside everything else.
 *
 * mount(2) of a shared folder waits for the host's daemon to answer, so each
 * runs in a process of its own: a daemon that hangs must not silence the shim.
 */
#ifndef SHIM_MOUNTS_H
#define SHIM_MOUNTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "shim/port.h"

enum { MOUNTS_MAX = 16 };

struct mounts_request {
    const char *tag, *path, *fstype;
    bool read_only;
};

/* Begin a mount; path and what is above it are made. NULL, or a text of why
 * it could not begin (borrowed until the next call). The answer is sent when
 * the mount has ended. */
const char *mounts_begin(const struct mounts_request *request);

/* A child of the shim has ended. */
void mounts_reaped(pid_t pid, int status);

/* Send the answers that are due and for which there is room. */
void mounts_answer(struct port *port);

/* True if mounts_answer() has something to send. */
bool mounts_have_answers(void);

/* Unmount what was mounted, the last first; what is busy is detached. */
void mounts_unmount_all(void);

#endif
