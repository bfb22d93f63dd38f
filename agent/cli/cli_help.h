/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_help - the list of commands, grouped by task.
 */
#ifndef AGENT_CLI_CLI_HELP_H
#define AGENT_CLI_CLI_HELP_H

#include <stddef.h>
#include <stdio.h>

/* In the order of the output; cli_help.c has their headings. */
enum cli_group {
    CLI_GROUP_RUN,
    CLI_GROUP_UNDO,
    CLI_GROUP_SANDBOX,
    CLI_GROUP_KEEP,
    CLI_GROUP_SERVE,
    CLI_GROUP_SETUP,
    CLI_GROUPS
};

struct cli_command {
    const char *name;
    enum cli_group group;
    int (*run)(int argc, char **argv);
    const char *summary; /* NULL: internal, not listed */
};

/* Print the usage: the commands in their groups, and the exit codes. */
void cli_help_print(FILE *out, const struct cli_command *commands,
                    size_t count);

/* Return the command that a mistyped word, or that of another program, most
 * likely means, or NULL. */
const struct cli_command *cli_help_guess(const char *word,
                                         const struct cli_command *commands,
                                         size_t count);

#endif
