/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_output - see cli_output.h.
 */
#include "agent/cli/cli_output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/cli_text.h"
#include "agent/base/pager.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_terminal.h"
#include "common/fd.h"
#include "common/host_environ.h"

void cli_output_options_clear(struct cli_output_options *options)
{
    g_clear_pointer(&options->color, g_free);
}

bool cli_output_init(struct cli_output *output, const char *command,
                     const struct cli_output_options *options)
{
    enum cli_color color = CLI_COLOR_AUTO;

    if (options->color && !cli_color_parse(options->color, &color)) {
        cli_options_wrong("%s: --color must be auto, always or never, not '%s'",
                          command, options->color);
        return false;
    }
    *output = (struct cli_output){ .terminal = isatty(STDOUT_FILENO),
                                   .kept_stdout = -1 };
    output->color = cli_color_is_used(color, output->terminal);
    output->width = cli_terminal_fit_width(STDOUT_FILENO);
    output->may_page = !options->no_pager && cli_terminal_moves(STDOUT_FILENO);
    return true;
}

/* ---- the pager ----------------------------------------------------------- */

/* Start the pager and return the fd of its input, or -1. */
static int start(char **argv, GPid *ret_pid)
{
    static const char *const terminal[] = { "TERM", NULL };
    g_auto(GStrv) env = host_environ_new(terminal);
    g_autoptr(GError) error = NULL;
    int in = -1;

    /* -F: end at once if all fits the screen; -R: let colours through; -X: keep
     * the text on the screen. "-" keeps less from writing a history. */
    env = g_environ_setenv(env, "LESS", "FRX", TRUE);
    env = g_environ_setenv(env, "LESSHISTFILE", "-", TRUE);
    if (g_spawn_async_with_pipes("/", argv, env, G_SPAWN_DO_NOT_REAP_CHILD,
                                 NULL, NULL, ret_pid, &in, NULL, NULL, &error))
        return in;
    cli_options_failed("warning: %s", error->message);
    return -1;
}

/* Ctrl-C is for the pager, which may use it to stop a search. */
static void ignore_keys(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
}

void cli_output_page(struct cli_output *output)
{
    g_autofree char *problem = NULL;
    g_auto(GStrv) argv = output->may_page ? pager_find(&problem) : NULL;
    fd_auto int in = -1;

    if (problem)
        cli_options_failed("warning: %s", problem);
    if (!argv)
        return;
    fflush(stdout);
    output->kept_stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC,
                                STDERR_FILENO + 1);
    in = output->kept_stdout < 0 ? -1 : start(argv, &output->pager);
    if (in < 0) {
        fd_close(&output->kept_stdout);
        return;
    }
    ignore_keys();
    dup2(in, STDOUT_FILENO);
}

void cli_output_end(struct cli_output *output)
{
    if (!output->pager)
        return;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        __fpurge(stdout); /* or the terminal would get it */
        clearerr(stdout);
    }
    dup2(output->kept_stdout, STDOUT_FILENO);
    fd_close(&output->kept_stdout);
    while (waitpid(output->pager, NULL, 0) < 0 && errno == EINTR)
        continue;
    g_spawn_close_pid(output->pager);
    output->pager = 0;
}

/* ---- colour -------------------------------------------------------------- */

char *cli_output_paint(const struct cli_output *output, enum cli_paint paint,
                       const char *text)
{
    static const char *const codes[] = {
        [PAINT_ID] = "33",    [PAINT_GOOD] = "32", [PAINT_BAD] = "31",
        [PAINT_OTHER] = "36", [PAINT_HEAD] = "1",
    };

    return output->color && *text
               ? g_strdup_printf("\033[%sm%s\033[m", codes[paint], text)
               : g_strdup(text);
}
