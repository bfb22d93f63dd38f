/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_hints - see cli_hints.h.
 */
#include "agent/cli/cli_hints.h"

#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_progress.h"
#include "agent/vm/guest_image.h"

enum {
    EXIT_NOT_FOUND = 127, /* as the shell does */
};

/* Warn only if there is data: a parent process often leaves a pipe open, and an
 * empty one that ends is harmless. */
static gboolean on_input(int fd, GIOCondition condition, gpointer data)
{
    int bytes = 0;

    /* /dev/null and similar devices do not support FIONREAD. */
    cli_progress_hide();
    if (ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0)
        fprintf(stderr, CLI_PROGRAM
                ": warning: standard input: not passed to the command; give it "
                "a file in the folder, or add </dev/null\n");
    return G_SOURCE_REMOVE;
}

void cli_hints_watch_input(void)
{
    if (!isatty(STDIN_FILENO))
        g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR | G_IO_NVAL,
                      on_input, NULL);
}

void cli_hints_tell_not_found(const struct cli_machine *machine, int exit_code)
{
    if (exit_code != EXIT_NOT_FOUND || machine->kernel ||
        (machine->image && strcmp(machine->image, GUEST_IMAGE_DEFAULT) != 0))
        return;
    fprintf(stderr, CLI_PROGRAM
            ": command not found: the image '" GUEST_IMAGE_DEFAULT
            "' has only busybox; use --image=debian for git, make, gcc and "
            "Python\n");
}
