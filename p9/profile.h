/* SPDX-License-Identifier: Apache-2.0
 *
 * profile - the semantics that the share has for its clients.
 *
 * A table of functions, so that a host whose files are not POSIX files (or a
 * Linux host that plays one) puts its own rules between the protocol and the
 * undo engine: which names there may be, and what attributes an inode has. All
 * changes of the folder still go through the engine.
 *
 * Threads: every call by any thread. Data path: 0 or -errno, IC_PARKED as the
 * engine's calls.
 */
#ifndef P9_PROFILE_H
#define P9_PROFILE_H

#include "interceptor/interceptor.h"

struct p9_profile {
    const char *name; /* of --profile */

    /* What the profile keeps for this share, for all calls below; NULL and
     * error. end() frees it. */
    void *(*start)(struct ic *ic, GError **error);
    void (*end)(void *state);

    /* As ic_lookup(). */
    int (*lookup)(void *state, struct ic_inode *dir, const char *name,
                  struct ic_inode **ret_inode, struct stat *ret_stat);

    /* May this name be made in the folder? 0 or -errno. */
    int (*check_new)(void *state, struct ic_inode *dir, const char *name);

    /* As ic_stat() and ic_setattr(). */
    int (*get)(void *state, struct ic_inode *inode, struct stat *ret_stat);
    int (*set)(void *state, struct ic_inode *inode, int fd,
               const struct ic_setattr *attr);
};

/* What the host has is what the client sees. */
extern const struct p9_profile p9_profile_posix;

/* NULL: there is no such profile. */
const struct p9_profile *p9_profile_find(const char *name);

#endif
