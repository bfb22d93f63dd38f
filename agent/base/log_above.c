/* SPDX-License-Identifier: Apache-2.0
 *
 * log_above - see log_above.h.
 */
#include "agent/base/log_above.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/log_place.h"
#include "interceptor/interceptor.h"

/* Symlinks are not followed: another user may have created them. */
static bool is_ours(const char *path, mode_t type, bool or_roots)
{
    struct stat st;

    return lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == type &&
           (st.st_uid == geteuid() || (or_roots && st.st_uid == 0));
}

static enum log_owner find_owner(const char *dir)
{
    g_autofree char *log = ic_default_undo_dir(dir, NULL);
    g_autofree char *version = NULL, *logs = NULL, *top = NULL;

    if (!log)
        return LOG_NONE;
    version = g_build_filename(log, "version", NULL);
    logs = g_path_get_dirname(log);
    top = log_place_top(log);
    if (access(log, F_OK) < 0)
        return LOG_NONE;
    if ((top && !is_ours(top, S_IFDIR, true)) ||
        !is_ours(logs, S_IFDIR, true) || !is_ours(log, S_IFDIR, false))
        return LOG_FOREIGN;
    return is_ours(version, S_IFREG, false) ? LOG_OURS : LOG_NONE;
}

bool log_above_is_at(const char *dir)
{
    return find_owner(dir) != LOG_NONE;
}

char *log_above_find(const char *dir, enum log_owner *ret_owner)
{
    g_autofree char *at = realpath(dir, NULL);
    struct stat from, st;

    *ret_owner = LOG_NONE;
    if (!at || stat(at, &from) < 0 || !S_ISDIR(from.st_mode))
        return NULL;
    while (strcmp(at, "/") != 0) {
        char *parent = g_path_get_dirname(at);

        g_free(at);
        at = parent;
        if (stat(at, &st) < 0 || st.st_dev != from.st_dev)
            return NULL;
        *ret_owner = find_owner(at);
        if (*ret_owner != LOG_NONE)
            return g_steal_pointer(&at);
    }
    return NULL;
}

char *log_above_find_ours(const char *dir)
{
    enum log_owner owner;
    g_autofree char *above = log_above_find(dir, &owner);

    return owner == LOG_OURS ? g_steal_pointer(&above) : NULL;
}
