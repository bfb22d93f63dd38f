/* SPDX-License-Identifier: Apache-2.0
 *
 * host_identity - the identity of this host's user in commits.
 *
 * It is read from the user's own configuration of git, never from a repository:
 * a guest may have written that.
 */
#ifndef AGENT_VM_HOST_IDENTITY_H
#define AGENT_VM_HOST_IDENTITY_H

#include "agent/vm/git_identity.h"

/* Read the host user's identity, if git is installed and has one. A value that
 * comes from a file in one of these folders (share_check_find()) is left out: a
 * guest can write there. */
void host_identity_read(const char *const *folders,
                        struct git_identity *ret_identity);

#endif
