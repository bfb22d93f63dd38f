/* SPDX-License-Identifier: Apache-2.0
 *
 * sys_tree - see sys.h: directories and what is in them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/sys.h"

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int sys_dir_is_empty(int dirfd, const char *name)
{
    int fd = sys_openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    struct dirent *entry;
    int empty = 1;
    DIR *dir;

    if (fd < 0)
        return fd;
    dir = fdopendir(fd);
    if (!dir) {
        int rc = -errno;

        close(fd);
        return rc;
    }
    while (empty == 1 && (entry = readdir(dir))) {
        if (!is_dot(entry->d_name))
            empty = 0;
    }
    closedir(dir);
    return empty;
}

static int open_up(int dirfd, const char *name)
{
    return sys_chmodat(dirfd, name, 0700);
}

/* Move a directory up to top, under a fresh name. */
static int hoist(int top, int dirfd, const char *name, unsigned *counter)
{
    char fresh[32];
    int rc;

    do {
        snprintf(fresh, sizeof(fresh), ".rm-%u", (*counter)++);
        rc = sys_rename_noreplace(dirfd, name, top, fresh);
        /* Its ".." changes, which needs the right to write it. */
        if (rc == -EACCES && open_up(dirfd, name) == 0)
            rc = sys_rename_noreplace(dirfd, name, top, fresh);
    } while (rc == -EEXIST);
    return rc;
}

/* Remove what can be removed below fd; directories that still have entries
 * are pushed up to "top" under a fresh name, so that depth costs no stack. */
static int empty_dir(int top, int fd, unsigned *counter, bool *ret_again)
{
    DIR *dir = fdopendir(fd);
    struct dirent *entry;
    int first_error = 0;

    if (!dir) {
        int rc = -errno;

        close(fd);
        return rc;
    }
    while ((entry = readdir(dir))) {
        int rc;

        if (is_dot(entry->d_name))
            continue;
        rc = sys_unlinkat(dirfd(dir), entry->d_name, 0);
        if (rc == -EISDIR || rc == -EPERM)
            rc = sys_unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
        if (rc == -ENOTEMPTY || rc == -EEXIST) {
            rc = hoist(top, dirfd(dir), entry->d_name, counter);
            *ret_again = true;
        }
        if (rc < 0 && rc != -ENOENT && first_error == 0)
            first_error = rc;
    }
    closedir(dir);
    return first_error;
}

static int open_for_removal(int dirfd, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    int fd = sys_openat(dirfd, name, flags, 0);

    if (fd == -EACCES && open_up(dirfd, name) == 0)
        fd = sys_openat(dirfd, name, flags, 0);
    return fd;
}

/* One pass over the direct children of top that are directories. */
static int empty_children(int top, unsigned *counter, bool *ret_again)
{
    int fd = sys_openat(top, ".", O_RDONLY | O_DIRECTORY, 0);
    struct dirent *entry;
    int first_error = 0;
    DIR *dir;

    if (fd < 0)
        return fd;
    dir = fdopendir(fd);
    if (!dir) {
        int rc = -errno;

        close(fd);
        return rc;
    }
    while ((entry = readdir(dir))) {
        int rc = 0, child;

        if (is_dot(entry->d_name))
            continue;
        if (sys_unlinkat(top, entry->d_name, 0) == 0)
            continue;
        child = open_for_removal(top, entry->d_name);
        if (child >= 0) {
            sys_chmod_fd(child, 0700); /* children may be moved out of it */
            rc = empty_dir(top, child, counter, ret_again);
        } else {
            rc = child;
        }
        if (rc == 0)
            rc = sys_unlinkat(top, entry->d_name, AT_REMOVEDIR);
        if (rc == -ENOTEMPTY || rc == -EEXIST) {
            /* readdir() may miss entries of a directory that changes. */
            *ret_again = true;
            rc = 0;
        }
        if (rc < 0 && rc != -ENOENT && first_error == 0)
            first_error = rc;
    }
    closedir(dir);
    return first_error;
}

int sys_remove_tree(int dirfd, const char *name)
{
    fd_auto int top = -1;
    unsigned counter = 0;
    bool again;
    int rc = sys_unlinkat(dirfd, name, 0);

    if (rc == 0 || rc == -ENOENT)
        return 0;
    if (rc != -EISDIR && rc != -EPERM)
        return rc;
    top = open_for_removal(dirfd, name);
    if (top < 0)
        return top == -ENOTDIR ? rc : top;
    sys_chmod_fd(top, 0700);
    do {
        again = false;
        rc = empty_children(top, &counter, &again);
    } while (rc == 0 && again);
    if (rc < 0)
        return rc;
    return sys_unlinkat(dirfd, name, AT_REMOVEDIR);
}
