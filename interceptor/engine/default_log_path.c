/* SPDX-License-Identifier: Apache-2.0
 *
 * default_log_path - the default path of a folder's undo log (interceptor.h).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/log_name.h"
#include "interceptor/interceptor.h"
#include "interceptor/log/undo_log_origin.h"

static char *state_dir(const char *real, const char *name)
{
    g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256,
                                                          real, -1);
    g_autofree char *leaf = g_strdup_printf("%s-%.16s", name, hash);

    return g_build_filename(g_get_user_state_dir(), "stepback", "undo", leaf,
                            NULL);
}

/* Return whether this process can make the log's folder. What is no folder is
 * in its way, and for the caller to report. */
static bool can_make(const char *parent)
{
    g_autofree char *top = g_build_filename(parent, LOG_NAME, NULL);
    g_autofree char *logs = g_build_filename(parent, LOG_FOLDER, NULL);
    const char *const paths[] = { logs, top };
    struct stat st;

    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        if (lstat(paths[i], &st) == 0)
            return !S_ISDIR(st.st_mode) || access(paths[i], W_OK | X_OK) == 0;
    }
    return access(parent, W_OK | X_OK) == 0;
}

/* Moving files into the log requires the same filesystem. A log that exists
 * stays in use: a client of the folder above can change that one's mode. */
static bool can_be_beside(const char *parent, const char *log,
                          const struct stat *share)
{
    struct stat st;

    return (can_make(parent) || access(log, F_OK) == 0) &&
           stat(parent, &st) == 0 && st.st_dev == share->st_dev;
}

/* A log that was made here in the place of versions before: a second one would
 * leave an interrupted step of the first as it is. */
static bool check_old_place(const char *parent, const char *name,
                            const char *log, GError **error)
{
    g_autofree char *old = g_build_filename(parent, LOG_NAME, name, NULL);
    g_autofree char *logs = g_build_filename(parent, LOG_FOLDER, NULL);
    g_autofree char *from = g_shell_quote(old), *to = g_shell_quote(logs);

    if (access(log, F_OK) == 0 || lgetxattr(old, UNDO_LOG_ORIGIN, NULL, 0) < 0)
        return true;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                "%s: an undo log in the place of earlier versions; move it: "
                "mkdir -p %s && mv %s %s/",
                old, to, from, to);
    return false;
}

char *ic_default_undo_dir(const char *share, GError **error)
{
    g_autofree char *real = realpath(share, NULL);
    g_autofree char *parent = NULL, *name = NULL, *log = NULL;
    struct stat st;

    if (!real || stat(real, &st) < 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY, "%s: %s",
                    share, g_strerror(errno));
        return NULL;
    }
    if (!S_ISDIR(st.st_mode) || strcmp(real, "/") == 0) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    S_ISDIR(st.st_mode) ? "%s: the root folder cannot be shared"
                                        : "%s: not a folder",
                    share);
        return NULL;
    }
    parent = g_path_get_dirname(real);
    name = g_path_get_basename(real);
    log = g_build_filename(parent, LOG_FOLDER, name, NULL);
    if (!check_old_place(parent, name, log, error))
        return NULL;
    if (can_be_beside(parent, log, &st))
        return g_steal_pointer(&log);
    return state_dir(real, name);
}
