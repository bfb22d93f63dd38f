/* SPDX-License-Identifier: Apache-2.0
 *
 * default_log_path - the default path of a folder's undo log (interceptor.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/log_name.h"
#include "interceptor/interceptor.h"

static char *state_dir(const char *real, const char *name)
{
    g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256,
                                                          real, -1);
    g_autofree char *leaf = g_strdup_printf("%s-%.16s", name, hash);

    return g_build_filename(g_get_user_state_dir(), "stepback", "undo", leaf,
                            NULL);
}

/* Moving files into the log requires the same filesystem. A log that exists
 * stays in use: a client of the folder above can change that one's mode. */
static gboolean can_be_beside(const char *parent, const char *log,
                              const struct stat *share)
{
    struct stat st;

    return (access(parent, W_OK | X_OK) == 0 || access(log, F_OK) == 0) &&
           stat(parent, &st) == 0 && st.st_dev == share->st_dev;
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
    if (can_be_beside(parent, log, &st))
        return g_steal_pointer(&log);
    return state_dir(real, name);
}
