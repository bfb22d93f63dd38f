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
#include "agent/base/log_above.h"
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
                            "is not used; name it with --undo-dir to use it\n",
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

/* ---- a command that runs ------------------------------------------------- */

/* The parent's log records this folder's changes as outside edits. */
static void warn_of_log_above(const char *above)
{
    g_autofree char *text = g_strdup_printf(
        "%s, above this folder, has an undo log of its own. A command run here "
        "is a step of this folder's log, and an outside edit for the log "
        "above.",
        above);

    cli_place_warn(text);
}

void cli_lookup_warn_of_outer(const char *dir)
{
    g_autofree char *above = log_above_find_ours(dir);

    if (above)
        warn_of_log_above(above);
}

bool cli_lookup_for_run(struct cli_place *place, bool separate_log)
{
    const char *dir = place->dir ? place->dir : ".";
    bool own = place->undo_dir || log_above_is_at(dir);
    g_autofree char *above = place->undo_dir ? NULL : log_above_find_ours(dir);
    g_autofree char *word = above ? cli_place_quote_to_print(above) : NULL;

    if (own || separate_log) {
        if (above)
            warn_of_log_above(above);
        return true;
    }
    if (above && place->dir) {
        cli_options_failed("%s: the undo log of %s covers this folder; add "
                           "--separate-log for a log of its own, or share all "
                           "of that folder: -C %s",
                           dir, above, word);
        return false;
    }
    cli_lookup_place(place);
    return true;
}

void cli_lookup_warn_of_inner(const struct cli_place *place)
{
    g_autofree char *inside = cli_place_inside(place->dir ? place->dir : ".");

    if (inside)
        fprintf(stderr,
                CLI_PROGRAM ": warning: %s is the undo log of a folder in this "
                            "one. A command run here is an outside edit for "
                            "it.\n",
                inside);
}
