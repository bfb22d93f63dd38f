/* SPDX-License-Identifier: Apache-2.0
 *
 * undo_log_ids - the file "ids": the user namespace of a log's ids.
 *
 * An engine in a user namespace that maps ids records ids of that namespace;
 * outside of it they mean other users.
 */
#include "interceptor/log/undo_log_ids.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/errors.h"
#include "common/fd.h"
#include "interceptor/log/undo_log_parts.h"
#include "interceptor/sys/sys.h"

enum { MAX_IDS = 64 << 10 };

static bool is_empty(const struct undo_log *log)
{
    struct stat st;

    return log->entries->len == 0 && log->redos->len == 0 &&
           sys_stat_name(log->wal, "in_progress", &st) == -ENOENT;
}

bool undo_log_check_ids(struct undo_log *log, const char *path, const char *ids,
                        GError **error)
{
    g_autofree char *found = NULL;
    int rc = fd_read_file(log->dir, "ids", MAX_IDS, &found, NULL);

    if (!ids)
        ids = "";
    if (rc == -ENOENT) {
        found = g_strdup("");
        rc = 0;
    }
    if (rc == 0 && strcmp(found, ids) == 0)
        return true;
    if (rc == 0 && is_empty(log)) {
        rc = undo_log_write_text(log, "ids", ids);
        if (rc == 0)
            return true;
    }
    if (rc < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR, "%s/ids: %s", path,
                    g_strerror(-rc));
        return false;
    }
    g_strdelimit(found, "\n", ' ');
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "undo log %s: its user and group ids are those of %s%s, so its "
                "steps cannot be undone from here; serve the folder with the "
                "same options as before (--uid-map, --gid-map, "
                "--interceptor-socket), and undo while it is served",
                path, *found ? "the maps " : "no map", found);
    return false;
}
