/* SPDX-License-Identifier: Apache-2.0
 *
 * log_place - see log_place.h.
 */
#include "agent/base/log_place.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/log_name.h"
#include "interceptor/interceptor.h"

/* or_roots: it may belong to root, too. */
static gboolean check_place(const char *path, bool or_roots, GError **error)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return TRUE;
    if (!S_ISLNK(st.st_mode) && !S_ISDIR(st.st_mode)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "%s: not a folder, so no undo log can be there; remove "
                    "it, or name the log (\"undo_dir\", or --undo-dir)",
                    path);
        return FALSE;
    }
    if (!S_ISLNK(st.st_mode)) {
        if (st.st_uid == geteuid() || (or_roots && st.st_uid == 0))
            return TRUE;
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "%s: belongs to another user (%u), and what an undo log "
                    "says is done with your rights; run as that user, or name "
                    "the log (\"undo_dir\", or --undo-dir)",
                    path, (unsigned)st.st_uid);
        return FALSE;
    }
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "%s: a symbolic link, which is not followed to an undo log; "
                "remove it, or name the log (\"undo_dir\", or --undo-dir)",
                path);
    return FALSE;
}

static bool is_real_folder(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *log_place_top(const char *log)
{
    g_autofree char *logs = g_path_get_dirname(log);

    return g_str_has_suffix(logs, "/" LOG_FOLDER) ? g_path_get_dirname(logs)
                                                  : NULL;
}

char *log_place_logs(const char *dir)
{
    g_autofree char *top = g_build_filename(dir, LOG_NAME, NULL);
    g_autofree char *logs = g_build_filename(dir, LOG_FOLDER, NULL);

    return is_real_folder(top) && is_real_folder(logs) ? g_steal_pointer(&logs)
                                                       : NULL;
}

char *log_place_of(const char *folder, const char *undo_dir, GError **error)
{
    g_autofree char *log = undo_dir ? g_strdup(undo_dir)
                                    : ic_default_undo_dir(folder, error);
    g_autofree char *logs = log ? g_path_get_dirname(log) : NULL;
    g_autofree char *top = log ? log_place_top(log) : NULL;

    if (!log || (!undo_dir && ((top && !check_place(top, true, error)) ||
                               !check_place(logs, true, error) ||
                               !check_place(log, false, error))))
        return NULL;
    return g_steal_pointer(&log);
}
