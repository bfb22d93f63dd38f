/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_base - see undo_log_base.h.
 */
#include "interceptor/log/undo_log_base.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/fd.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/sys/project.h"
#include "interceptor/sys/sys.h"

struct undo_log_name undo_log_name(int64_t id)
{
    struct undo_log_name name;

    snprintf(name.text, sizeof(name.text), "%" PRId64, id);
    return name;
}

void undo_log_use(struct undo_log *log, int64_t id, int64_t seq)
{
    log->last_id = MAX(log->last_id, id);
    log->least_id = MIN(log->least_id, id);
    log->last_seq = MAX(log->last_seq, seq);
}

static int compare_seq(gconstpointer a, gconstpointer b)
{
    const struct undo_log_entry *x = a, *y = b;

    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

const struct undo_log_entry *undo_log_entries(struct undo_log *log,
                                              size_t *ret_count)
{
    *ret_count = log->entries->len;
    return (const struct undo_log_entry *)(void *)log->entries->data;
}

bool undo_log_has(struct undo_log *log, int64_t id)
{
    for (guint i = 0; i < log->entries->len; i++) {
        if (g_array_index(log->entries, struct undo_log_entry, i).id == id)
            return true;
    }
    return false;
}

void undo_log_sort(struct undo_log *log)
{
    g_array_sort(log->entries, compare_seq);
}

int64_t undo_log_last_id(struct undo_log *log)
{
    return log->last_id;
}

int64_t undo_log_least_id(struct undo_log *log)
{
    return log->least_id;
}

int64_t undo_log_next_seq(struct undo_log *log)
{
    return ++log->last_seq;
}

int64_t undo_log_last_seq(struct undo_log *log)
{
    return log->last_seq;
}

struct ctime_ledger *undo_log_ctime_ledger(struct undo_log *log)
{
    return log->ledger;
}

dev_t undo_log_dev(struct undo_log *log)
{
    return log->dev;
}

void undo_log_set_sync(struct undo_log *log, bool sync)
{
    log->sync = sync;
}

int undo_log_sync_folders(struct undo_log *log)
{
    int rc = 0;

    /* Includes "version" and the parent folders of the log. */
    if (!atomic_load(&log->on_disk)) {
        rc = sys_syncfs(log->dir);
        atomic_store(&log->on_disk, rc == 0);
    }
    if (rc == 0)
        rc = sys_fsync(log->wal);
    return rc < 0 ? rc : sys_fsync(log->steps);
}

int undo_log_open_wal(struct undo_log *log)
{
    return sys_openat(log->wal, UNDO_LOG_IN_PROGRESS, UNDO_LOG_DIR_FLAGS, 0);
}

int undo_log_open_subdir(int dirfd, const char *name)
{
    int rc = sys_mkdirat(dirfd, name, 0700);
    int fd;

    if (rc < 0 && rc != -EEXIST)
        return rc;
    fd = sys_openat(dirfd, name, UNDO_LOG_DIR_FLAGS, 0);
    if (fd >= 0)
        project_stop(fd);
    return fd;
}

int undo_log_write_text(struct undo_log *log, const char *name,
                        const char *text)
{
    g_autofree char *fresh = g_strconcat(name, ".tmp", NULL);
    fd_auto int fd = sys_openat(
        log->dir, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    int rc = fd < 0 ? fd : sys_write_all(fd, text, strlen(text));

    atomic_store(&log->on_disk, false);
    return rc < 0 ? rc : sys_renameat2(log->dir, fresh, log->dir, name, 0);
}

bool undo_log_has_inverse(struct undo_log *log)
{
    return log->has_inverse;
}
