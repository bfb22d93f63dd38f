/* SPDX-License-Identifier: Apache-2.0
 *
 * state_place - see state_place.h.
 */
#include "agent/base/state_place.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/errors.h"
#include "common/real_path.h"
#include "interceptor/interceptor.h"

static bool has_log(const char *folder)
{
    g_autofree char *log = ic_default_undo_dir(folder, NULL);
    g_autofree char *version = log ? g_build_filename(log, "version", NULL)
                                   : NULL;

    return version && access(version, F_OK) == 0;
}

/* A guest may have written there, and could name processes to kill, or folders
 * to share. */
gboolean state_place_check(const char *path, GError **error)
{
    g_autofree char *at = real_path_of(path);

    while (strcmp(at, "/") != 0) {
        char *parent = g_path_get_dirname(at);

        g_free(at);
        at = parent;
        if (!has_log(at))
            continue;
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_DIRECTORY,
                    "%s: lies in %s, which has an undo log, so that a guest "
                    "may have written there; set XDG_STATE_HOME to a folder "
                    "outside",
                    path, at);
        return FALSE;
    }
    return TRUE;
}

gboolean state_place_check_own(int fd, const char *path, GError **error)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "%s: cannot examine it: %s", path, g_strerror(errno));
    else if (st.st_uid == geteuid() && (st.st_mode & 07777) == 0700)
        return TRUE;
    else
        g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                    "%s: belongs to user %u with mode %04o; it must be yours "
                    "with mode 0700",
                    path, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
    return FALSE;
}
