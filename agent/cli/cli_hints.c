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
#include "agent/machine/guest_image.h"

#define SHELL_CHARACTERS " \t\n;&|<>()$`*?"

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
    const char *isolation = machine->isolation ? machine->isolation
                                               : machine->defaults->isolation;

    if (exit_code != EXIT_NOT_FOUND || machine->kernel ||
        g_strcmp0(isolation, isolation_name(ISOLATION_LOCAL)) == 0 ||
        (machine->image && strcmp(machine->image, GUEST_IMAGE_DEFAULT) != 0))
        return;
    fprintf(stderr, CLI_PROGRAM
            ": command not found: the image '" GUEST_IMAGE_DEFAULT
            "' has only busybox; use --image=debian for git, make, gcc and "
            "Python\n");
}

static bool is_minimal(const struct sandbox_record *record)
{
    json_t *session = json_object_get(record->config, "session");
    json_t *vm = json_object_get(session, "vm");
    const char *image = json_string_value(json_object_get(vm, "image"));

    return g_strcmp0(json_string_value(json_object_get(session, "isolation")),
                     isolation_name(ISOLATION_LOCAL)) != 0 &&
           !json_object_get(vm, "kernel") &&
           (!image || strcmp(image, GUEST_IMAGE_DEFAULT) == 0);
}

void cli_hints_tell_not_found_in(const struct sandbox_record *record,
                                 char **words, int exit_code)
{
    if (exit_code != EXIT_NOT_FOUND)
        return;
    if (words && !words[1] && words[0][strcspn(words[0], SHELL_CHARACTERS)]) {
        g_autofree char *quoted = g_shell_quote(words[0]);

        fprintf(stderr,
                CLI_PROGRAM
                ": exec has no shell; a command line needs one: " CLI_PROGRAM
                " exec -- sh -c %s\n",
                quoted);
    } else if (is_minimal(record)) {
        fprintf(stderr, CLI_PROGRAM
                ": command not found: the image '" GUEST_IMAGE_DEFAULT
                "' has only busybox; '" CLI_PROGRAM
                " up --image=debian' starts a sandbox with git, make, gcc and "
                "Python\n");
    }
}

void cli_hints_tell_one_step(const struct sandbox_record *record)
{
    if (is_minimal(record))
        fprintf(stderr,
                CLI_PROGRAM ": the whole session is one step: the image "
                            "'" GUEST_IMAGE_DEFAULT "' has no bash or zsh\n");
}
