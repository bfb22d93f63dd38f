/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_lookup - see cli_lookup.h.
 */
#include "agent/cli/cli_lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"
#include "interceptor/interceptor.h"

enum owner { NO_LOG, OURS, FOREIGN };

/* No symlink is followed: another user may have made it. */
static bool is_ours(const char *path, mode_t type, bool or_roots)
{
    struct stat st;

    return lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == type &&
           (st.st_uid == geteuid() || (or_roots && st.st_uid == 0));
}

static enum owner find_owner(const char *dir)
{
    g_autofree char *log = ic_default_undo_dir(dir, NULL);
    g_autofree char *version = NULL, *logs = NULL;

    if (!log)
        return NO_LOG;
    version = g_build_filename(log, "version", NULL);
    logs = g_path_get_dirname(log);
    if (access(log, F_OK) < 0)
        return NO_LOG;
    if (!is_ours(logs, S_IFDIR, true) || !is_ours(log, S_IFDIR, false))
        return FOREIGN;
    return is_ours(version, S_IFREG, false) ? OURS : NO_LOG;
}

bool cli_lookup_has_log(const char *dir)
{
    return find_owner(dir) != NO_LOG;
}

/* The nearest folder above dir with a log, and whose that is. */
static char *find_above(const char *dir, enum owner *ret_owner)
{
    g_autofree char *at = realpath(dir, NULL);
    struct stat from, st;

    *ret_owner = NO_LOG;
    if (!at || stat(at, &from) < 0)
        return NULL;
    while (strcmp(at, "/") != 0) {
        char *parent = g_path_get_dirname(at);

        g_free(at);
        at = parent;
        if (stat(at, &st) < 0 || st.st_dev != from.st_dev)
            return NULL;
        *ret_owner = find_owner(at);
        if (*ret_owner != NO_LOG)
            return g_steal_pointer(&at);
    }
    return NULL;
}

char *cli_lookup_above(const char *dir)
{
    enum owner owner;
    g_autofree char *above = find_above(dir, &owner);

    return owner == OURS ? g_steal_pointer(&above) : NULL;
}

void cli_lookup_place(struct cli_place *place)
{
    const char *dir = place->dir ? place->dir : ".";
    g_autofree char *above = NULL, *shown = NULL, *real = NULL;
    enum owner owner;

    if (place->undo_dir || cli_lookup_has_log(dir))
        return;
    above = find_above(dir, &owner);
    if (!above)
        return;
    shown = cli_options_printable(above);
    if (owner == FOREIGN) {
        fprintf(stderr,
                CLI_PROGRAM ": %s: its undo log belongs to another user and "
                            "is not used; name the folder with -C to use it\n",
                shown);
        return;
    }
    fprintf(stderr, CLI_PROGRAM ": using the undo log of %s\n", shown);
    real = realpath(dir, NULL);
    place->below = g_strdup(real + strlen(above) + 1);
    g_free(place->dir);
    place->dir = g_steal_pointer(&above);
}

char *cli_lookup_path(const struct cli_place *place, const char *path)
{
    g_autofree char *top = g_strconcat("/", place->below, NULL);
    g_autofree char *full = g_canonicalize_filename(path, top);

    return place->below && !g_path_is_absolute(path) ? g_strdup(full + 1)
                                                     : g_strdup(path);
}
