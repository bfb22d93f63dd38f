/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_progress - see cli_progress.h.
 */
#include "agent/cli/cli_progress.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_fit.h"
#include "agent/cli/cli_terminal.h"

enum { PERIOD_MS = 125 };

struct cli_progress {
    cli_progress_what what;
    void *opaque;
    gint64 begin; /* monotonic, us */
    guint timer, turns;
};

/* The current line of stderr is the progress line. */
static bool shown;

void cli_progress_rewrite(const char *text)
{
    g_autofree char *line = NULL;

    if (!cli_terminal_moves(STDERR_FILENO))
        return;
    /* A full line would move the cursor to the next one. */
    line = cli_fit_end(text, cli_terminal_width(STDERR_FILENO) - 1);
    fprintf(stderr, "\r%s\033[K", line);
    shown = *line != '\0';
}

static gboolean on_turn(gpointer data)
{
    static const char spinner[] = "|/-\\";
    struct cli_progress *progress = data;
    gint64 us = g_get_monotonic_time() - progress->begin;
    const char *what = progress->what(progress->opaque);
    g_autofree char *text = NULL;

    if (!what)
        return G_SOURCE_CONTINUE;
    text = g_strdup_printf(CLI_PROGRAM ": %c %s (%" G_GINT64_FORMAT " s)",
                           spinner[progress->turns++ % (sizeof(spinner) - 1)],
                           what, us / G_USEC_PER_SEC);
    cli_progress_rewrite(text);
    return G_SOURCE_CONTINUE;
}

struct cli_progress *cli_progress_new(cli_progress_what what, void *opaque)
{
    struct cli_progress *progress = g_new0(struct cli_progress, 1);

    progress->what = what;
    progress->opaque = opaque;
    progress->begin = g_get_monotonic_time();
    if (cli_terminal_moves(STDERR_FILENO))
        progress->timer = g_timeout_add(PERIOD_MS, on_turn, progress);
    return progress;
}

void cli_progress_hide(void)
{
    if (shown)
        cli_progress_rewrite("");
}

void cli_progress_free(struct cli_progress *progress)
{
    if (!progress)
        return;
    cli_progress_hide();
    g_clear_handle_id(&progress->timer, g_source_remove);
    g_free(progress);
}
