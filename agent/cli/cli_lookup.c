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
#include "agent/cli/log_above.h"
#include "interceptor/interceptor.h"

void cli_lookup_place(struct cli_place *place)
{
    const char *dir = place->dir ? place->dir : ".";
    g_autofree char *above = NULL, *shown = NULL, *real = NULL;
    enum log_owner owner;

    if (place->undo_dir || log_above_is_at(dir))
        return;
    above = log_above_find(dir, &owner);
    if (!above)
        return;
    shown = cli_options_printable(above);
    if (owner == LOG_FOREIGN) {
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
