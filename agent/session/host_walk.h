/* SPDX-License-Identifier: Apache-2.0
 *
 * host_walk - resolves a path of the host that a guest may have chosen.
 *
 * A lookup in an automounter's directory (autofs) makes the host look for a
 * server of that name: a guest without a network could send data by names.
 * Such a directory is entered only where something is mounted already.
 */
#ifndef AGENT_SESSION_HOST_WALK_H
#define AGENT_SESSION_HOST_WALK_H

/* Resolve an absolute path. Return an O_PATH fd of the directory, or a negative
 * errno: also -ENOTDIR, -ELOOP (over 40 symlinks, path_resolution(7)), and
 * -EREMOTE for a directory that would have to be mounted. In *ret_real, in each
 * case, a new string: the path without symlinks as far as it was resolved, and
 * the rest as it was. */
int host_walk(const char *path, char **ret_real);

#endif
