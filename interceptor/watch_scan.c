/* SPDX-License-Identifier: Apache-2.0
 *
 * watch_scan - find the directories of the share, to watch them.
 *
 * A directory is watched first and read then, so that what appears in it
 * meanwhile is either told or read. Deeper than a path can say nothing is
 * watched. These calls are not made by sys.c: that counts what the engine
 * does to the share and the log, for tests.
 */
#include "interceptor/watch_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"

/* The client may exchange any component for a symlink while we look: the
 * kernel sees to it that we stay in the share and on its filesystem. */
static int open_dir(struct watch *watch, const char *path)
{
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };
    int fd = (int)syscall(SYS_openat2, watch->ic->root->fd, path, &how,
                          sizeof(how));

    return fd < 0 ? -errno : fd;
}

static int open_watched(struct watch *watch, const struct watch_dir *dir,
                        const char *name)
{
    g_autofree char *path = watch_dir_path(dir, name);

    return path ? open_dir(watch, path) : -ENOENT;
}

static void warn_full(struct watch *watch, int rc)
{
    if (watch->full)
        return;
    watch->full = true;
    events_warn(watch->ic->events,
                "not all folders in %s can be watched for changes from "
                "outside (%s: %s); there, such a change is noticed only when "
                "a step that touched the same thing is undone",
                watch->ic->share, watch->source->name, g_strerror(-rc));
}

void watch_add_dir(struct watch *watch, int dirfd, struct watch_dir *parent,
                   const char *name)
{
    g_autoptr(GBytes) key = NULL;
    struct watch_dir *dir;
    struct stat st;
    bool is_new;
    int rc;

    if (fstat(dirfd, &st) < 0 || st.st_dev != watch->ic->dev)
        return;
    /* Each mark keeps an inode in the kernel's memory. */
    if (g_hash_table_size(watch->dirs) >= WATCH_MAX_DIRS) {
        warn_full(watch, -ENOSPC);
        return;
    }
    key = watch->source->mark(watch, dirfd, &rc);
    if (!key) {
        if (rc == -ENOSPC || rc == -ENOMEM)
            warn_full(watch, rc);
        else
            log_debug(LOG_FILE_WATCHER, "%s: %s", name, g_strerror(-rc));
        return;
    }
    dir = watch_dirs_put(watch->dirs, key, parent, name, &is_new);
    if (dir->generation == watch->generation || dir->queued)
        return;
    dir->generation = watch->generation;
    dir->queued = true;
    dir->refs++;
    g_ptr_array_add(watch->unread, dir);
}

void watch_appeared(struct watch *watch, struct watch_dir *parent,
                    const char *name)
{
    fd_auto int fd = open_watched(watch, parent, name);

    if (fd >= 0)
        watch_add_dir(watch, fd, parent, name);
}

static bool is_dir(int fd, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

static void read_dir(struct watch *watch, struct watch_dir *dir)
{
    int fd = open_watched(watch, dir, NULL);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    while (stream && (entry = readdir(stream))) {
        fd_auto int below = -1;

        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0 || !is_dir(fd, entry))
            continue;
        below = openat(fd, entry->d_name,
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK |
                           O_CLOEXEC);
        if (below >= 0)
            watch_add_dir(watch, below, dir, entry->d_name);
    }
    if (stream)
        closedir(stream);
}

void watch_scan(struct watch *watch, unsigned count)
{
    for (; count > 0 && watch->unread->len > 0; count--) {
        struct watch_dir *dir = g_ptr_array_steal_index_fast(
            watch->unread, watch->unread->len - 1);

        dir->queued = false;
        if (!dir->removed)
            read_dir(watch, dir);
        watch_dir_unref(dir);
    }
}

bool watch_scan_root(struct watch *watch)
{
    fd_auto int fd = open_dir(watch, ".");

    watch->generation++;
    if (fd >= 0)
        watch_add_dir(watch, fd, NULL, "");
    return watch->unread->len > 0;
}
