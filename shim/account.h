/* SPDX-License-Identifier: Apache-2.0
 *
 * account - the user that an execution runs as.
 *
 * Reads /etc/passwd and /etc/group directly, because a static program has no
 * NSS. Use it only in the child: the C library allocates here.
 */
#ifndef SHIM_ACCOUNT_H
#define SHIM_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ACCOUNT_MAX_GROUPS 64

struct account {
    uid_t uid;
    gid_t gid;
    gid_t groups[ACCOUNT_MAX_GROUPS];
    size_t n_groups;
    char name[128], home[256], shell[256];
};

/* Look up "user[:group]", each a name or a number, as docker(1) does; NULL is
 * the user of this process, who need not be root in a local sandbox: $HOME then
 * is the home. A number without an account runs with group 0 and home "/".
 * False: no such user or group; ret_what is the unknown part. */
bool account_find(const char *text, struct account *account,
                  const char **ret_what);

/* Switch to that user, or NULL: remain the shim's. A user other than root has
 * no capabilities afterwards. Return 0 or -errno. */
int account_enter(const struct account *account);

#endif
