/* SPDX-License-Identifier: Apache-2.0
 *
 * profile - see profile.h.
 */
#include "p9/profile.h"

#include <string.h>

static void *posix_start(struct ic *ic, GError **error)
{
    return ic;
}

static void posix_end(void *state)
{
}

static int posix_lookup(void *state, struct ic_inode *dir, const char *name,
                        struct ic_inode **ret_inode, struct stat *ret_stat)
{
    return ic_lookup(state, dir, name, ret_inode, ret_stat);
}

static int posix_check_new(void *state, struct ic_inode *dir, const char *name)
{
    return 0;
}

static int posix_get(void *state, struct ic_inode *inode, struct stat *ret_stat)
{
    return ic_stat(state, inode, ret_stat);
}

static int posix_set(void *state, struct ic_inode *inode, int fd,
                     const struct ic_setattr *attr)
{
    return ic_setattr(state, inode, fd, attr, NULL);
}

const struct p9_profile p9_profile_posix = {
    .name = "posix",
    .start = posix_start,
    .end = posix_end,
    .lookup = posix_lookup,
    .check_new = posix_check_new,
    .get = posix_get,
    .set = posix_set,
};

static const struct p9_profile *const profiles[] = { &p9_profile_posix };

const struct p9_profile *p9_profile_find(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(profiles); i++) {
        if (strcmp(name, profiles[i]->name) == 0)
            return profiles[i];
    }
    return NULL;
}
