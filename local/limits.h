/* SPDX-License-Identifier: Apache-2.0
 *
 * limits - limits of a sandbox that need no cgroup.
 */
#ifndef LOCAL_LIMITS_H
#define LOCAL_LIMITS_H

/* Set the limits of all processes that will be in the user namespaces below
 * the current one. Called by its root, before any of them is made: the kernel
 * counts what all users of such a namespace have together against the limits
 * of the process that makes it. Exit on failure. */
void limits_set(void);

#endif
