/* SPDX-License-Identifier: Apache-2.0
 *
 * user_file - see user_file.h.
 */
#include "agent/base/user_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/log_above.h"
#include "common/errors.h"
#include "common/fd.h"

enum { FILE_MAX = 64 * 1024 };

static gboolean fail(GError **error, const char *path, const char *problem)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD, "%s: %s", path,
                problem);
    return FALSE;
}

bool user_file_is_own_group(gid_t gid)
{
    const struct passwd *user = getpwuid(geteuid());
    const struct group *group;

    if (!user || user->pw_gid != gid)
        return false;
    group = getgrgid(gid);
    return group && strcmp(group->gr_name, user->pw_name) == 0 &&
           !*group->gr_mem;
}

/* Check that no other user can write a file or folder. */
static gboolean check_owner(const struct stat *st, const char *path,
                            GError **error)
{
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return fail(error, path,
                    "another user owns it; use a file of your own, with "
                    "XDG_CONFIG_HOME");
    if ((st->st_mode & S_IWOTH) ||
        ((st->st_mode & S_IWGRP) && !user_file_is_own_group(st->st_gid)))
        return fail(error, path,
                    "other users can write it; run: chmod go-w on it");
    return TRUE;
}

static gboolean check_folder(const char *path, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path);
    struct stat st;

    return stat(folder, &st) < 0 || check_owner(&st, folder, error);
}

/* Check that the open file is in no folder that a guest has written: one with
 * an undo log. */
static gboolean check_never_shared(int fd, const char *path, GError **error)
{
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
    g_autofree char *real = g_file_read_link(link, NULL);
    g_autofree char *folder = real ? g_path_get_dirname(real) : NULL;
    g_autofree char *problem = NULL, *shared = NULL;
    enum log_owner owner;

    if (!folder)
        return fail(error, path, g_strerror(errno));
    shared = log_above_is_at(folder) ? g_strdup(folder)
                                     : log_above_find(folder, &owner);
    if (!shared)
        return TRUE;
    problem = g_strdup_printf("it is in %s, which has an undo log: a guest "
                              "could write it; copy it to a folder that no "
                              "sandbox shares",
                              shared);
    return fail(error, path, problem);
}

gboolean user_file_read(const char *path, char **ret_text, size_t *ret_len,
                        GError **error)
{
    fd_auto int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    g_autofree char *text = g_malloc(FILE_MAX + 1);
    struct stat st;
    ssize_t got;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return TRUE;
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail(error, path, g_strerror(errno));
    if (!S_ISREG(st.st_mode))
        return fail(error, path, "not a regular file; remove it");
    if (!check_owner(&st, path, error) || !check_folder(path, error) ||
        !check_never_shared(fd, path, error))
        return FALSE;
    got = read(fd, text, FILE_MAX + 1);
    if (got < 0 || got > FILE_MAX)
        return fail(error, path,
                    got < 0 ? g_strerror(errno) : "more than 64 KiB");
    *ret_text = g_steal_pointer(&text);
    *ret_len = (size_t)got;
    return TRUE;
}
