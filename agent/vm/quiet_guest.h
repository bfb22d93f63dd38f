/* SPDX-License-Identifier: Apache-2.0
 *
 * quiet_guest - the callbacks of a guest that runs nothing: only its hello
 * counts.
 */
#ifndef AGENT_VM_QUIET_GUEST_H
#define AGENT_VM_QUIET_GUEST_H

#include "agent/machine/guest_channel.h"

/* Return callbacks that ignore all other messages. */
struct guest_channel_callbacks quiet_guest_callbacks(
    void (*hello)(const struct guest_hello *hello, void *opaque));

#endif
