/* SPDX-License-Identifier: Apache-2.0
 *
 * sys_tree - see sys.h: list directories and remove trees.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "interceptor/sys/fault.h"
#include "interceptor/sys/sys.h"

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* ---- listing ------------------------------------------------------------- */

/* Return 1 with the next entry, 0 at the end, or -errno. readdir(3) returns
 * NULL for both the end and an error; only errno tells them apart. */
static int read_entry(DIR *dir, struct dirent **ret_entry)
{
    errno = 0;
    if (FAULT_LIST(*ret_entry = readdir(dir)) < 0)
        return -errno;
    return *ret_entry ? 1 : -errno;
}

int sys_dir_each_fd(int fd, sys_dir_visit *visit, void *opaque)
{
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry = NULL;
    int rc = 0;

    if (!dir) {
        rc = fd < 0 ? fd : -errno;
        fd_close(&fd);
        return rc;
    }
    while (rc == 0 && (rc = read_entry(dir, &entry)) > 0)
        rc = is_dot(entry->d_name) ? 0 : visit(fd, entry, opaque);
    closedir(dir);
    return rc;
}

int sys_dir_each(int dirfd, const char *name, sys_dir_visit *visit,
                 void *opaque)
{
    return sys_dir_each_fd(
        sys_openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0), visit,
        opaque);
}

static int stop_at_any(int fd, const struct dirent *entry, void *opaque)
{
    return 1;
}

int sys_dir_is_empty(int dirfd, const char *name)
{
    int rc = sys_dir_each(dirfd, name, stop_at_any, NULL);

    return rc < 0 ? rc : rc == 0;
}

/* ---- removing ------------------------------------------------------------ */

static int open_up(int dirfd, const char *name)
{
    return sys_chmodat(dirfd, name, 0700);
}

/* Move a directory up to the top, under a fresh name. */
static int hoist(int top, int dirfd, const char *name, unsigned *counter)
{
    char fresh[32];
    int rc;

    do {
        snprintf(fresh, sizeof(fresh), ".rm-%u", (*counter)++);
        rc = sys_rename_noreplace(dirfd, name, top, fresh);
        /* The move changes "..", which needs write permission on the directory.
         */
        if (rc == -EACCES && open_up(dirfd, name) == 0)
            rc = sys_rename_noreplace(dirfd, name, top, fresh);
    } while (rc == -EEXIST);
    return rc;
}

struct removal {
    int top;          /* fd of the tree */
    unsigned counter; /* for fresh names */
    bool again;       /* more to remove */
    int error;        /* the first error */
};

static void note_error(struct removal *removal, int rc)
{
    if (rc < 0 && rc != -ENOENT && removal->error == 0)
        removal->error = rc;
}

/* Move directories that still have entries up to the top under a fresh name, so
 * that the depth costs no stack. */
static int remove_below(int fd, const struct dirent *entry, void *opaque)
{
    struct removal *removal = opaque;
    int rc = sys_unlinkat(fd, entry->d_name, 0);

    if (rc == -EISDIR || rc == -EPERM)
        rc = sys_unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    if (rc == -ENOTEMPTY || rc == -EEXIST) {
        rc = hoist(removal->top, fd, entry->d_name, &removal->counter);
        removal->again = true;
    }
    note_error(removal, rc);
    return 0;
}

static int open_for_removal(int dirfd, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    int fd = sys_openat(dirfd, name, flags, 0);

    if (fd == -EACCES && open_up(dirfd, name) == 0)
        fd = sys_openat(dirfd, name, flags, 0);
    return fd;
}

/* Remove a direct child of the top. */
static int remove_child(int fd, const struct dirent *entry, void *opaque)
{
    struct removal *removal = opaque;
    int rc = sys_unlinkat(fd, entry->d_name, 0), child = -ENOTDIR;

    if (rc == -EISDIR || rc == -EPERM)
        child = open_for_removal(fd, entry->d_name);
    if (child == -ENOTDIR) { /* removed, or the file stays */
        note_error(removal, rc);
        return 0;
    }
    if (child >= 0)
        sys_chmod_fd(child, 0700); /* moving its children needs the mode */
    rc = sys_dir_each_fd(child, remove_below, removal);
    if (rc == 0)
        rc = sys_unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    if (rc == -ENOTEMPTY || rc == -EEXIST) {
        /* readdir(3) may miss entries of a directory that changes. */
        removal->again = true;
        rc = 0;
    }
    note_error(removal, rc);
    return 0;
}

int sys_remove_tree(int dirfd, const char *name)
{
    fd_auto int top = -1;
    struct removal removal = { 0 };
    int rc = sys_unlinkat(dirfd, name, 0);

    if (rc == 0 || rc == -ENOENT)
        return 0;
    if (rc != -EISDIR && rc != -EPERM)
        return rc;
    top = open_for_removal(dirfd, name);
    if (top < 0)
        return top == -ENOTDIR ? rc : top;
    sys_chmod_fd(top, 0700);
    removal.top = top;
    do {
        removal.again = false;
        rc = sys_dir_each(top, ".", remove_child, &removal);
        if (rc == 0)
            rc = removal.error;
    } while (rc == 0 && removal.again);
    if (rc < 0)
        return rc;
    return sys_unlinkat(dirfd, name, AT_REMOVEDIR);
}
