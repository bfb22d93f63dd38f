/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_discard - see undo_log_discard.h.
 */

#include "interceptor/log/undo_log_discard.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"
#include "interceptor/log/ctime_ledger.h"
#include "interceptor/log/undo_log_history.h"
#include "interceptor/log/undo_log_names.h"
#include "interceptor/log/undo_log_open.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/log/undo_log_redo.h"
#include "interceptor/log/undo_log_steps.h"
#include "interceptor/log/undo_log_trash.h"
#include "interceptor/sys/sys.h"

/* Name of the inverse in a fully restored step's folder. */
#define UNDONE "undone"

/* Move the parts to discarded/, under fresh names: parts from a discard that
 * was killed stay there. */
static int move_parts(struct undo_log *log)
{
    fd_auto int to = undo_log_open_subdir(log->dir, UNDO_LOG_DISCARDED);
    int rc = to < 0 ? to : 0;

    for (size_t i = 0; rc == 0 && undo_log_part_names[i]; i++) {
        const char *name = undo_log_part_names[i];

        rc = sys_rename_noreplace(log->dir, name, to, name);
        for (int n = 0; rc == -EEXIST && n < INT16_MAX; n++) {
            g_autofree char *fresh = g_strdup_printf("%s.%d", name, n);

            rc = sys_rename_noreplace(log->dir, name, to, fresh);
        }
        if (rc == -ENOENT)
            rc = 0;
    }
    return rc;
}

static int discard_other(struct undo_log *log)
{
    int64_t last_id = log->last_id;
    bool damaged = false;
    int rc = undo_log_check_names(log);

    if (rc == 0)
        rc = move_parts(log);
    if (rc == 0)
        rc = undo_log_write_version(log);
    if (rc == 0)
        rc = undo_log_open_parts(log, &damaged);
    if (rc == 0)
        rc = undo_log_append_history(log, "used", last_id, log->last_seq);
    if (rc < 0) {
        undo_log_close_parts(log);
        return rc;
    }
    undo_log_use(log, last_id, 0);
    g_clear_pointer(&log->other_version, g_free);
    return 0;
}

int undo_log_discard(struct undo_log *log)
{
    int rc;

    if (log->other_version)
        return discard_other(log);
    rc = undo_log_drop_redos(log);
    while (rc == 0)
        rc = undo_log_evict(log, NULL);
    if (rc == -ENOENT)
        rc = undo_log_trash_damaged(log);
    if (rc < 0)
        return rc;
    ctime_ledger_forget(log->ledger);
    g_ptr_array_set_size(log->barriers, 0);
    rc = undo_log_compact_history(log);
    if (rc == -ENOSPC || rc == -EDQUOT) {
        /* The history is merely longer than necessary. */
        log_warn(LOG_UNDO, "undo log: cannot compact the history: %s",
                 g_strerror(-rc));
        rc = 0;
    }
    return rc;
}

static int move_into_step(struct undo_log *log, const char *name)
{
    fd_auto int wal = undo_log_open_wal(log);

    return wal < 0 ? wal : undo_log_move_inverse(log, wal, name);
}

int undo_log_set_undone(struct undo_log *log)
{
    return move_into_step(log, UNDONE);
}

int undo_log_is_undone(int dir)
{
    struct stat st;
    int rc = sys_stat_name(dir, UNDONE, &st);

    return rc == -ENOENT ? 0 : rc < 0 ? rc : 1;
}

int undo_log_set_aside_whole(struct undo_log *log, int64_t id, int64_t seq,
                             struct undo_log_name *ret_name)
{
    int rc = move_into_step(log, "inverse");

    return rc < 0 ? rc : undo_log_set_aside(log, id, seq, ret_name);
}

int undo_log_give_up(struct undo_log *log, int64_t id, int64_t seq)
{
    int rc = move_into_step(log, "inverse");
    struct undo_log_name name;

    if (rc == 0)
        rc = undo_log_discard(log);
    if (rc == 0)
        rc = undo_log_set_aside(log, id, seq, &name);
    return rc;
}
