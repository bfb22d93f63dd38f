/* SPDX-License-Identifier: Apache-2.0
 *
 * watch_scan - find the directories of the share, to watch them.
 *
 * A directory is watched before it is read, so that an entry that appears
 * meanwhile is either reported or read. Directories deeper than PATH_MAX are
 * not watched. These calls do not go through sys.c, which counts what the
 * engine does to the share and the log, for tests.
 */
#include "interceptor/sys/sys.h"
#include "interceptor/watch/watch_parts.h"

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

enum {
    BELOW_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
};

/* The client may replace any component by a symlink meanwhile: the kernel keeps
 * the lookup within the share and its filesystem. */
static int open_dir(struct watch *watch, const char *path)
{
    struct open_how how = {
        .flags = BELOW_FLAGS,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };
    int fd = (int)syscall(SYS_openat2, watch->host.root, path, &how,
                          sizeof(how));

    return fd < 0 ? -errno : fd;
}

/* Events are read late: dir may have another path by now, or be outside the
 * share for a while. A later event gives its location; until then its content
 * is unknown. */
static void miss(struct watch *watch, struct watch_dir *dir, int rc)
{
    if (dir->removed || dir->missed ||
        (rc != -ENOENT && rc != -ENOTDIR && rc != -ELOOP && rc != -EXDEV))
        return;
    dir->missed = true;
    dir->refs++;
    g_ptr_array_add(watch->missed, dir);
}

static void queue(struct watch *watch, struct watch_dir *dir)
{
    if (dir->queued)
        return;
    dir->queued = true;
    dir->refs++;
    g_ptr_array_add(watch->unread, dir);
}

void watch_retry(struct watch *watch)
{
    for (guint i = watch->missed->len; i-- > 0;) {
        struct watch_dir *dir = g_ptr_array_index(watch->missed, i);
        g_autofree char *path = dir->removed ? NULL : watch_dir_path(dir, NULL);

        if (!dir->removed && !path)
            continue; /* outside the share */
        g_ptr_array_remove_index_fast(watch->missed, i);
        dir->missed = false;
        if (path)
            queue(watch, dir);
        watch_dir_unref(dir);
    }
}

/* Open the directory itself, not another one that has its path now. Marking it
 * again returns its key. */
static int open_known(struct watch *watch, const struct watch_dir *dir)
{
    g_autofree char *path = watch_dir_path(dir, NULL);
    fd_auto int fd = path ? open_dir(watch, path) : -ENOENT;
    g_autoptr(GBytes) key = NULL;
    int rc;

    if (fd < 0)
        return fd;
    key = watch->source->mark(watch, fd, &rc);
    if (!key)
        return rc;
    return g_bytes_equal(key, dir->key) ? fd_steal(&fd) : -ENOENT;
}

static void warn_full(struct watch *watch, int rc)
{
    if (watch->full)
        return;
    watch->full = true;
    events_warn(watch->host.events,
                "%s: cannot watch all folders for outside edits (%s: %s); an "
                "edit there is noticed only when a step that touched the same "
                "files is undone",
                watch->host.share, watch->source->name, g_strerror(-rc));
}

/* dirfd is a directory of the share: watch it, and read it later. */
static void add_dir(struct watch *watch, int dirfd, struct watch_dir *parent,
                    const char *name)
{
    g_autoptr(GBytes) key = NULL;
    struct watch_dir *dir;
    struct stat st;
    bool is_new;
    int rc;

    if (fstat(dirfd, &st) < 0 || st.st_dev != watch->host.dev)
        return;
    /* Each mark pins an inode in the kernel's memory. */
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
    queue(watch, dir);
}

void watch_appeared(struct watch *watch, struct watch_dir *parent,
                    const char *name)
{
    fd_auto int dir = open_known(watch, parent);
    fd_auto int fd = -1;

    if (dir < 0) {
        miss(watch, parent, dir);
        return;
    }
    fd = openat(dir, name, BELOW_FLAGS);
    if (fd >= 0)
        add_dir(watch, fd, parent, name);
}

int watch_stat(struct watch *watch, const struct watch_dir *dir,
               const char *name, struct stat *ret_stat)
{
    fd_auto int fd = open_known(watch, dir);

    if (fd < 0)
        return fd;
    return fstatat(fd, name, ret_stat, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static bool is_dir(int fd, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

struct reading {
    struct watch *watch;
    struct watch_dir *dir;
};

static int add_below(int fd, const struct dirent *entry, void *opaque)
{
    const struct reading *reading = opaque;
    fd_auto int below = is_dir(fd, entry)
                            ? openat(fd, entry->d_name, BELOW_FLAGS)
                            : -1;

    if (below >= 0)
        add_dir(reading->watch, below, reading->dir, entry->d_name);
    return 0;
}

static void read_dir(struct watch *watch, struct watch_dir *dir)
{
    struct reading reading = { watch, dir };
    int fd = open_known(watch, dir);
    int rc = fd < 0 ? fd : sys_dir_each_fd(fd, add_below, &reading);

    if (fd < 0)
        miss(watch, dir, fd);
    else if (rc < 0)
        warn_full(watch, rc);
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
        add_dir(watch, fd, NULL, "");
    return watch->unread->len > 0;
}
