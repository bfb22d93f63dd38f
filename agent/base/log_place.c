/* SPDX-License-Identifier: Apache-2.0
 *
 * log_place - see log_place.h.
 */
#include "agent/base/log_place.h"

#include <sys/stat.h>

#include "common/errors.h"
#include "interceptor/interceptor.h"

static gboolean check_no_link(const char *path, GError **error)
{
    struct stat st;

    if (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode))
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "%s: a symbolic link, which is not followed to an undo log; "
                "remove it, or name the log (\"undo_dir\", or --undo-dir)",
                path);
    return FALSE;
}

char *log_place_of(const char *folder, const char *undo_dir, GError **error)
{
    g_autofree char *log = undo_dir ? g_strdup(undo_dir)
                                    : ic_default_undo_dir(folder, error);
    g_autofree char *logs = log ? g_path_get_dirname(log) : NULL;

    if (!log || (!undo_dir &&
                 (!check_no_link(logs, error) || !check_no_link(log, error))))
        return NULL;
    return g_steal_pointer(&log);
}
