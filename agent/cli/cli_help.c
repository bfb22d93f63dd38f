/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_help - see cli_help.h.
 */
#include "agent/cli/cli_help.h"

#include <glib.h>
#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_guess.h"

static const char *const headings[CLI_GROUPS] = {
    [CLI_GROUP_RUN] = "Run commands",
    [CLI_GROUP_UNDO] = "See what they changed, and undo it",
    [CLI_GROUP_SANDBOX] = "Work in a sandbox that keeps running",
    [CLI_GROUP_KEEP] = "List and end sandboxes",
    [CLI_GROUP_SERVE] = "Connect assistants and frontends",
    [CLI_GROUP_SETUP] = "Set up and check",
};

static void print_group(FILE *out, enum cli_group group,
                        const struct cli_command *commands, size_t count)
{
    fprintf(out, "%s:\n", headings[group]);
    for (size_t i = 0; i < count; i++) {
        if (commands[i].group == group && commands[i].summary)
            fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    fputc('\n', out);
}

void cli_help_print(FILE *out, const struct cli_command *commands, size_t count)
{
    fputs("Usage: " CLI_PROGRAM " COMMAND [OPTIONS]\n"
          "       " CLI_PROGRAM " help [COMMAND] | --help | --version\n\n"
          "Run commands in a sandbox over a folder, and undo what they did to "
          "it.\n\n",
          out);
    for (enum cli_group group = 0; group < CLI_GROUPS; group++)
        print_group(out, group, commands, count);
    fputs("'" CLI_PROGRAM
          " help COMMAND' lists a command's options; 'man " CLI_PROGRAM
          "' explains them.\n\n"
          "Exit codes: 0 done; 1 failed or refused; 2 wrong command line. "
          "\"run\" exits with\nthe command's exit code, or 124: "
          "--timeout expired, 125: " CLI_PROGRAM " itself failed,\n"
          "130: interrupted.\n",
          out);
}

/* Commands of git, Docker and tmux, and the nearest one here. */
static const char *const synonyms[][2] = {
    { "checkout", "undo" }, { "delete", "rm" },      { "down", "stop" },
    { "enter", "shell" },   { "info", "inspect" },   { "list", "ps" },
    { "log", "history" },   { "ls", "ps" },          { "network", "net" },
    { "new", "up" },        { "ports", "port" },     { "remove", "rm" },
    { "reset", "undo" },    { "restore", "undo" },   { "revert", "undo" },
    { "rollback", "undo" }, { "secrets", "secret" }, { "sh", "shell" },
    { "ssh", "shell" },     { "start", "up" },       { "status", "ps" },
};

const struct cli_command *cli_help_guess(const char *word,
                                         const struct cli_command *commands,
                                         size_t count)
{
    struct cli_guess guess = { .word = word };
    const struct cli_command *best = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(synonyms); i++) {
        if (strcmp(word, synonyms[i][0]) == 0)
            guess.word = synonyms[i][1];
    }
    guess.len = strlen(guess.word);
    for (size_t i = 0; i < count; i++) {
        if (commands[i].summary)
            cli_guess_try(&guess, commands[i].name);
        if (guess.best == commands[i].name)
            best = &commands[i];
    }
    return best;
}
