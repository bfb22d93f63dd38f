/* SPDX-License-Identifier: Apache-2.0
 *
 * step_shell - login shells in which each line is a step.
 *
 * bash gets a start-up file that reads those of the user and adds hooks to PS0
 * and PROMPT_COMMAND; zsh gets a .zshenv that adds preexec and precmd. The
 * hooks wait for "step", so that a line's step is open before the line runs and
 * closed before the next prompt. Another shell runs under "step run".
 */
#ifndef SHIM_STEP_SHELL_H
#define SHIM_STEP_SHELL_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/step_local.h"

enum { STEP_SHELL_WORDS = 8 };

/* How to run a shell. */
struct step_shell {
    const char *program;
    const char *words[STEP_SHELL_WORDS]; /* NULL-terminated */
    const char *variable; /* to add to the environment, or NULL */
};

/* Write the files for shells, and the command "step", beside the socket; with
 * link also /usr/local/bin/step, unless it exists. Return 0 or -errno. */
int step_shell_install(const char *socket, bool link);

/* Return the variable that names the socket, or NULL if there is none. */
const char *step_shell_socket_variable(void);

/* Choose how to run this login shell (borrowed). */
void step_shell_choose(const char *shell, struct step_shell *ret_choice);

#endif
