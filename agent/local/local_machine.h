/* SPDX-License-Identifier: Apache-2.0
 *
 * local_machine - machines that share the host's kernel: bubblewrap over FUSE
 * mounts of the file servers.
 */
#ifndef AGENT_LOCAL_LOCAL_MACHINE_H
#define AGENT_LOCAL_LOCAL_MACHINE_H

#include "agent/machine/machine_kind.h"

extern const struct machine_kind local_machine_kind;

#endif
