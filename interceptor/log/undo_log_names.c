/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_names - see undo_log_names.h.
 */
#include "interceptor/log/undo_log_names.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "interceptor/log/undo_log_parts.h"
#include "interceptor/sys/sys.h"

const char *const undo_log_part_names[] = {
    "redo",
    "steps",
    "wal",
    "history.jsonl",
    "history.jsonl.tmp",
    "own.jsonl",
    "reserve",
    UNDO_LOG_DAMAGED,
    "spare",
    NULL,
};

/* Other names that may be in the folder. */
static const char *const kept[] = {
    "version",    "version.tmp",      "ids",           "ids.tmp", "lock",
    "lost+found", UNDO_LOG_DISCARDED, UNDO_LOG_MARKER, NULL,
};

static int check_name(int fd, const struct dirent *entry, void *opaque)
{
    const char *name = entry->d_name;

    return g_strv_contains(undo_log_part_names, name) ||
                   g_strv_contains(kept, name)
               ? 0
               : -EEXIST;
}

int undo_log_check_names(struct undo_log *log)
{
    return sys_dir_each(log->dir, ".", check_name, NULL);
}
