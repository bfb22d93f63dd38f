/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_redo - the folders of inverse steps (undo_log.h).
 */
#include "interceptor/log/undo_log_redo.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/step.h"
#include "interceptor/log/undo_log_owner.h"
#include "interceptor/log/undo_log_names.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/log/undo_log_steps.h"
#include "interceptor/log/undo_log_trash.h"
#include "interceptor/sys/sys.h"

#define INVERSE "inverse"
#define REDO    "redo"

static int compare_seqs(gconstpointer a, gconstpointer b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static int take_redo(int fd, const struct dirent *entry, void *opaque)
{
    struct undo_log *log = opaque;
    char *end;
    int64_t seq = strtoll(entry->d_name, &end, 10);

    if (seq <= 0 || seq > STEP_MAX_NUMBER || *end != '\0')
        return 0;
    g_array_append_val(log->redos, seq);
    undo_log_use(log, 0, seq);
    return 0;
}

int undo_log_find_redos(struct undo_log *log)
{
    struct stat st;
    fd_auto int fd = sys_openat(log->dir, REDO, UNDO_LOG_DIR_FLAGS, 0);
    int rc;

    log->has_inverse = sys_stat_name(log->wal, INVERSE, &st) != -ENOENT;
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    rc = sys_dir_each(fd, ".", take_redo, log);
    g_array_sort(log->redos, compare_seqs);
    return rc;
}

const int64_t *undo_log_redos(struct undo_log *log, size_t *ret_count)
{
    *ret_count = log->redos->len;
    return (const int64_t *)(void *)log->redos->data;
}

int undo_log_open_redo(struct undo_log *log, int64_t seq)
{
    fd_auto int redo = sys_openat(log->dir, REDO, UNDO_LOG_DIR_FLAGS, 0);

    return redo < 0 ? redo
                    : sys_openat(redo, undo_log_name(seq).text,
                                 UNDO_LOG_DIR_FLAGS, 0);
}

/* ---- being made ---------------------------------------------------------- */

int undo_log_open_inverse(struct undo_log *log)
{
    return sys_openat(log->wal, INVERSE, UNDO_LOG_DIR_FLAGS, 0);
}

int undo_log_create_inverse(struct undo_log *log, int *ret_dirfd)
{
    fd_auto int dir = -1;
    int rc = sys_mkdirat(log->wal, INVERSE, 0700);

    if (rc < 0)
        return rc;
    log->has_inverse = true;
    dir = undo_log_open_inverse(log);
    if (dir < 0)
        return dir;
    rc = sys_mkdirat(dir, STEP_BLOBS, 0700);
    if (rc == 0)
        *ret_dirfd = fd_steal(&dir);
    return rc;
}

int undo_log_move_inverse(struct undo_log *log, int dirfd, const char *name)
{
    int rc = sys_rename_noreplace(log->wal, INVERSE, dirfd, name);

    /* A killed attempt has already moved one there. */
    for (int n = 1; rc == -EEXIST && n < INT16_MAX; n++) {
        g_autofree char *fresh = g_strdup_printf("%s.%d", name, n);

        rc = sys_rename_noreplace(log->wal, INVERSE, dirfd, fresh);
    }
    if (rc < 0 && rc != -ENOENT)
        return rc;
    log->has_inverse = false;
    return 0;
}

int undo_log_set_inverse_aside(struct undo_log *log)
{
    fd_auto int to = undo_log_open_subdir(log->dir, UNDO_LOG_DAMAGED);

    return to < 0 ? to : undo_log_move_inverse(log, to, INVERSE);
}

int undo_log_drop_inverse(struct undo_log *log)
{
    int rc = undo_log_move_to_trash(log, log->wal, INVERSE, 0);

    if (rc == -ENOENT)
        rc = 0;
    log->has_inverse = rc < 0;
    return rc;
}

int undo_log_keep_inverse(struct undo_log *log, int64_t seq)
{
    fd_auto int redo = undo_log_open_subdir(log->dir, REDO);
    int rc = redo < 0 ? redo
                      : sys_rename_noreplace(log->wal, INVERSE, redo,
                                             undo_log_name(seq).text);

    if (rc == 0) {
        log->has_inverse = false;
        g_array_append_val(log->redos, seq);
        g_array_sort(log->redos, compare_seqs);
        undo_log_use(log, 0, seq);
    }
    return rc;
}

int undo_log_commit_inverse(struct undo_log *log,
                            const struct undo_log_entry *entry)
{
    int rc = undo_log_commit_from(log, INVERSE, entry);

    if (rc == 0)
        log->has_inverse = false;
    return rc;
}

/* ---- being used ---------------------------------------------------------- */

int undo_log_reopen_redo(struct undo_log *log, int64_t seq)
{
    fd_auto int redo = sys_openat(log->dir, REDO, UNDO_LOG_DIR_FLAGS, 0);
    int rc;

    undo_log_begin_rollback(log);
    rc = redo < 0 ? redo
                  : sys_rename_noreplace(redo, undo_log_name(seq).text,
                                         log->wal, UNDO_LOG_IN_PROGRESS);
    for (guint i = 0; rc == 0 && i < log->redos->len; i++) {
        if (g_array_index(log->redos, int64_t, i) == seq) {
            g_array_remove_index(log->redos, i);
            break;
        }
    }
    return rc;
}

int undo_log_return_redo(struct undo_log *log, int64_t seq)
{
    fd_auto int redo = undo_log_open_subdir(log->dir, REDO);
    int rc = redo < 0 ? redo
                      : sys_rename_noreplace(log->wal, UNDO_LOG_IN_PROGRESS,
                                             redo, undo_log_name(seq).text);

    if (rc == 0) {
        g_array_append_val(log->redos, seq);
        g_array_sort(log->redos, compare_seqs);
    }
    return rc;
}

int undo_log_finish_redo(struct undo_log *log)
{
    return undo_log_move_to_trash(log, log->wal, UNDO_LOG_IN_PROGRESS, 0);
}

int undo_log_drop_redos(struct undo_log *log)
{
    /* Every change calls this; usually there is none, so skip opening the
     * folder. */
    fd_auto int redo = log->redos->len == 0
                           ? -ENOENT
                           : sys_openat(log->dir, REDO, UNDO_LOG_DIR_FLAGS, 0);
    /* An inverse that could be neither committed nor dropped. */
    int rc = log->has_inverse ? undo_log_drop_inverse(log) : 0;

    /* Drop the one to be redone last first: after a kill in between, the
     * remaining ones can still be redone. */
    while (rc == 0 && log->redos->len > 0) {
        int64_t seq = g_array_index(log->redos, int64_t, 0);

        rc = redo < 0 ? redo
                      : undo_log_move_to_trash(log, redo,
                                               undo_log_name(seq).text, 0);
        if (rc == -ENOENT)
            rc = 0;
        if (rc == 0)
            g_array_remove_index(log->redos, 0);
    }
    return rc;
}
