/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_trash - what is being removed, and the reserve (undo_log.h).
 */
#include "interceptor/undo_log_parts.h"

#include <dirent.h>
#include <errno.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/sys.h"

#define TRASH "trash"

/* ---- trash --------------------------------------------------------------- */

/* A fresh name in wal/trash for what is in wal/in_progress. */
int undo_log_move_to_trash(struct undo_log *log)
{
    fd_auto int trash = undo_log_open_subdir(log->wal, TRASH);
    int rc = trash < 0 ? trash : -EEXIST;

    for (int64_t i = 0; rc == -EEXIST && i < INT16_MAX; i++)
        rc = sys_rename_noreplace(log->wal, UNDO_LOG_IN_PROGRESS, trash,
                                  undo_log_name(i).text);
    return rc;
}

void undo_log_empty_trash(struct undo_log *log)
{
    int fd = sys_openat(log->wal, TRASH, UNDO_LOG_DIR_FLAGS, 0);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        int rc = entry->d_name[0] == '.' ? 0
                                         : sys_remove_tree(fd, entry->d_name);

        if (rc < 0)
            log_warn(LOG_UNDO, "removing old parts of the undo log: %s",
                     g_strerror(-rc));
    }
    if (dir)
        closedir(dir);
}

/* ---- reserve ------------------------------------------------------------- */

enum { RESERVE_BYTES = 1 << 20 };

void undo_log_release_reserve(struct undo_log *log)
{
    sys_unlinkat(log->dir, "reserve", 0);
}

void undo_log_take_reserve(struct undo_log *log)
{
    fd_auto int fd = sys_openat(log->dir, "reserve",
                                O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);

    /* Without it a rollback may want for room, no more. */
    if (fd >= 0)
        sys_fallocate(fd, 0, 0, RESERVE_BYTES);
}
