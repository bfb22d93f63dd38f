/* SPDX-License-Identifier: Apache-2.0
 *
 * limits - limits of a sandbox that need no cgroup: resource limits, and quotas
 * of the kernel for each user of the host that the sandbox shares with the user
 * who started it.
 */
#ifndef LOCAL_LIMITS_H
#define LOCAL_LIMITS_H

enum { LIMITS_QUOTAS = 4 };

struct limits {
    unsigned long quotas[LIMITS_QUOTAS]; /* of the host's user; 0: unknown */
};

/* Forbid core dumps of this process and its descendants, for good. Called
 * first: root of the host can raise a limit of 0, with which the kernel still
 * starts a handler; another user's stays. */
void limits_forbid_core_dumps(void);

/* Note the quotas of the host: to be called outside of the sandbox's user
 * namespaces. */
struct limits limits_note_host(void);

/* Set the limits of all processes that will be in the user namespaces below
 * the current one. Called by its root, before any of them is made: the kernel
 * counts what all users of such a namespace have together against the limits
 * of the process that makes it. Exit on failure. */
void limits_set(const struct limits *host);

#endif
