/* SPDX-License-Identifier: Apache-2.0
 *
 * host_identity - the identity of this host's user in commits.
 *
 * It is read from the user's own configuration of git, never from a repository:
 * a guest may have written that.
 */
#ifndef AGENT_MACHINE_HOST_IDENTITY_H
#define AGENT_MACHINE_HOST_IDENTITY_H

#include "agent/machine/git_identity.h"

/* Read the host user's identity from $XDG_CONFIG_HOME/git/config and
 * ~/.gitconfig, if git is installed. A file in one of these folders
 * (share_check_find()) is left out, because a guest can write there, and so is
 * what a file includes. */
void host_identity_read(const char *const *folders,
                        struct git_identity *ret_identity);

#endif
