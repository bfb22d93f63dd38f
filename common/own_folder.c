/* SPDX-License-Identifier: Apache-2.0
 *
 * own_folder - see own_folder.h.
 *
 * Each component is opened relative to the previous one, so that the checked
 * directory is the one that is used. As no other user can change a component,
 * the path still refers to it later.
 */
#include "common/own_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/real_path.h"

/* In a sticky directory only the owner of an entry can replace it. */
static bool is_safe_parent(const struct stat *st)
{
    return (st->st_uid == 0 || st->st_uid == geteuid()) &&
           (!(st->st_mode & (S_IWGRP | S_IWOTH)) || (st->st_mode & S_ISVTX));
}

static char *problem_of(const struct stat *st)
{
    if (st->st_uid != geteuid())
        return g_strdup_printf("belongs to user %u, not to user %u",
                               (unsigned)st->st_uid, (unsigned)geteuid());
    if ((st->st_mode & 07777) != 0700)
        return g_strdup_printf("has mode %04o, not 0700",
                               (unsigned)(st->st_mode & 07777));
    return NULL;
}

int own_folder_open(const char *path, char **ret_path, char **ret_problem)
{
    g_autofree char *real = real_path_of(path);
    g_auto(GStrv) names = g_strsplit(real, "/", -1);
    fd_auto int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    for (char **name = names; fd >= 0 && *name; name++) {
        fd_auto int parent = -1;

        if (!**name)
            continue;
        if (fstat(fd, &st) < 0 || !is_safe_parent(&st)) {
            *ret_problem = g_strdup("lies in a folder that another user can "
                                    "change");
            return -1;
        }
        parent = fd_steal(&fd);
        /* Parents may lack read permission. */
        fd = openat(parent, *name,
                    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0 || fstat(fd, &st) < 0) {
        *ret_problem = g_strdup_printf("cannot be opened: %s",
                                       g_strerror(errno));
        return -1;
    }
    *ret_problem = problem_of(&st);
    if (*ret_problem)
        return -1;
    *ret_path = g_steal_pointer(&real);
    return fd_steal(&fd);
}
