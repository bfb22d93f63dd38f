/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_steps - see undo_log_steps.h.
 */

#include "interceptor/log/undo_log_steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/pack.h"
#include "interceptor/log/step.h"
#include "interceptor/log/undo_log_history.h"
#include "interceptor/log/undo_log_owner.h"
#include "interceptor/log/undo_log_names.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/log/undo_log_trash.h"
#include "interceptor/sys/sys.h"

/* ---- entries ------------------------------------------------------------- */

static void entries_remove(struct undo_log *log, int64_t id)
{
    for (guint i = 0; i < log->entries->len; i++) {
        if (g_array_index(log->entries, struct undo_log_entry, i).id == id) {
            g_array_remove_index(log->entries, i);
            return;
        }
    }
}

/* Without a sync, the rename itself survives a kill. */
static void sync_move(struct undo_log *log)
{
    int rc = log->sync ? undo_log_sync_folders(log) : 0;

    if (rc < 0)
        log_warn(LOG_UNDO, "undo log: cannot sync: %s", g_strerror(-rc));
}

/* ---- steps --------------------------------------------------------------- */

/* A step that could not be opened, on a full disk for example, may have left a
 * folder that could not be removed either. Without a first line it holds
 * nothing. */
static int drop_half_made(struct undo_log *log)
{
    fd_auto int dir = undo_log_open_wal(log);
    g_autoptr(step_auto) step = NULL;
    int rc = dir < 0 ? dir : step_load_summary(dir, &step);

    if (rc != -ENOENT && rc != -ENODATA)
        return rc < 0 ? rc : -EEXIST;
    return undo_log_move_to_trash(log, log->wal, UNDO_LOG_IN_PROGRESS, 0);
}

void undo_log_remove_begun(struct undo_log *log)
{
    sys_remove_tree(log->wal, UNDO_LOG_IN_PROGRESS);
}

int undo_log_create_wal(struct undo_log *log, int *ret_dirfd)
{
    fd_auto int dir = -1;
    int rc = sys_mkdirat(log->wal, UNDO_LOG_IN_PROGRESS, 0700);

    if (rc == -EEXIST) {
        rc = drop_half_made(log);
        if (rc == 0)
            rc = sys_mkdirat(log->wal, UNDO_LOG_IN_PROGRESS, 0700);
    }
    if (rc < 0)
        return rc;
    dir = undo_log_open_wal(log);
    if (dir < 0)
        return dir;
    undo_log_begin_ownership(log);
    rc = sys_mkdirat(dir, STEP_BLOBS, 0700);
    if (rc < 0) {
        undo_log_remove_begun(log);
        return rc;
    }
    *ret_dirfd = fd_steal(&dir);
    return 0;
}

static int64_t size_of(int dirfd, const char *name)
{
    struct stat st;

    return sys_stat_name(dirfd, name, &st) == 0 && S_ISREG(st.st_mode)
               ? st.st_size
               : 0;
}

/* Return the bytes that the log wrote for a step: record and content as stored.
 */
static int64_t measure(int folder)
{
    fd_auto int blobs = sys_openat(folder, STEP_BLOBS, UNDO_LOG_DIR_FLAGS, 0);
    int64_t bytes = size_of(folder, STEP_MANIFEST);

    if (blobs >= 0)
        bytes += size_of(blobs, PACK_NAME) + size_of(blobs, PACK_COMPRESSED);
    return bytes;
}

int undo_log_commit_from(struct undo_log *log, const char *name,
                         const struct undo_log_entry *entry)
{
    int64_t id = entry->id, seq = entry->seq;
    int rc = sys_renameat2(log->wal, name, log->steps, undo_log_name(id).text,
                           RENAME_NOREPLACE);

    if (rc < 0)
        return rc;
    sync_move(log);
    g_array_append_vals(log->entries, entry, 1);
    undo_log_use(log, id, seq);
    undo_log_measure(log, log->entries->len - 1);
    /* The rename commits the step; the note only keeps its id from being reused
     * once the step is gone. */
    rc = undo_log_append_history(log, "done", id, seq);
    if (rc < 0)
        log_warn(LOG_UNDO, "undo log: cannot write the history: %s",
                 g_strerror(-rc));
    return 0;
}

int undo_log_commit(struct undo_log *log, const struct undo_log_entry *entry)
{
    return undo_log_commit_from(log, UNDO_LOG_IN_PROGRESS, entry);
}

void undo_log_measure(struct undo_log *log, size_t index)
{
    struct undo_log_entry *entry = &g_array_index(log->entries,
                                                  struct undo_log_entry, index);
    fd_auto int folder = undo_log_open_step(log, entry->id);

    if (folder >= 0)
        entry->copied = measure(folder);
}

int undo_log_evict(struct undo_log *log, struct undo_log_entry *ret_entry)
{
    struct undo_log_entry entry;
    int rc;

    if (log->entries->len == 0)
        return -ENOENT;
    entry = g_array_index(log->entries, struct undo_log_entry, 0);
    rc = undo_log_move_to_trash(log, log->steps, undo_log_name(entry.id).text,
                                entry.copied + entry.moved);
    if (rc < 0)
        return rc;
    g_array_remove_index(log->entries, 0);
    rc = undo_log_append_history(log, "evicted", entry.id, entry.seq);
    if (rc < 0) /* a full disk, for example; the "done" note has the same ids */
        log_debug(LOG_UNDO, "undo log: cannot write the history: %s",
                  g_strerror(-rc));
    if (ret_entry)
        *ret_entry = entry;
    return 0;
}

int undo_log_free_bytes(struct undo_log *log, int64_t *ret_free,
                        int64_t *ret_total)
{
    struct statvfs st;

    if (fstatvfs(log->dir, &st) < 0)
        return -errno;
    *ret_total = (int64_t)(st.f_blocks * st.f_frsize);
    *ret_free = (int64_t)(st.f_bavail * st.f_frsize) +
                undo_log_trash_bytes(log);
    return 0;
}

int undo_log_open_step(struct undo_log *log, int64_t id)
{
    return sys_openat(log->steps, undo_log_name(id).text, UNDO_LOG_DIR_FLAGS,
                      0);
}

int undo_log_reopen(struct undo_log *log, int64_t id)
{
    int rc = sys_rename_noreplace(log->steps, undo_log_name(id).text, log->wal,
                                  UNDO_LOG_IN_PROGRESS);

    if (rc == 0) {
        entries_remove(log, id);
        sync_move(log);
    }
    return rc;
}

static bool is_full(int rc)
{
    return rc == -ENOSPC || rc == -EDQUOT;
}

int undo_log_move_aside(struct undo_log *log, struct undo_log_name *ret_name)
{
    fd_auto int to = undo_log_open_subdir(log->dir, UNDO_LOG_DAMAGED);
    int rc = to < 0 ? to : -EEXIST;

    for (int64_t n = 0; rc == -EEXIST && n < INT16_MAX; n++) {
        *ret_name = undo_log_name(n);
        rc = sys_rename_noreplace(log->wal, UNDO_LOG_IN_PROGRESS, to,
                                  ret_name->text);
    }
    return rc;
}

int undo_log_set_aside(struct undo_log *log, int64_t id, int64_t seq,
                       struct undo_log_name *ret_name)
{
    fd_auto int to = undo_log_open_subdir(log->dir, UNDO_LOG_DAMAGED);
    int rc = to < 0 ? to : undo_log_append_history(log, "damaged", id, seq);

    if (to < 0)
        return to;
    undo_log_use(log, id, seq);
    if (rc < 0 && !is_full(rc)) /* a full disk: the note is owed */
        return rc;
    return undo_log_move_aside(log, ret_name);
}

int undo_log_discard_wal(struct undo_log *log, int64_t id, int64_t seq,
                         bool popped)
{
    const char *type = popped ? "popped" : "done";
    int rc = undo_log_append_history(log, type, id, seq);

    if (is_full(rc) && undo_log_release_reserve(log))
        rc = undo_log_append_history(log, type, id, seq);
    undo_log_use(log, id, seq);
    if (rc < 0 && !is_full(rc))
        return rc;
    if (rc == 0)
        return undo_log_move_to_trash(log, log->wal, UNDO_LOG_IN_PROGRESS, 0);
    /* The step must not stay because one line cannot be written, and its
     * content may be the room that the line needs. Until the line is written
     * (see owes_note), a kill would free its id. */
    rc = undo_log_move_to_trash(log, log->wal, UNDO_LOG_IN_PROGRESS, 0);
    if (rc == 0 && undo_log_append_history(log, type, id, seq) < 0)
        log_warn(LOG_UNDO,
                 "undo log: the disk is full; the id of step %" PRId64
                 " is not recorded yet",
                 id);
    return rc;
}
