/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_help - see cli_help.h.
 */
#include "agent/cli/cli_help.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "agent/cli/cli.h"

enum {
    MAX_WORD = 24,    /* longer words are not guessed */
    MAX_MISTAKES = 2, /* letters */
};

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
          "Run commands in a virtual machine over a folder, and undo what "
          "they did to it.\n\n",
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

/* Return how many letters must be inserted, removed or replaced to make b of
 * a. Both are at most MAX_WORD long. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[MAX_WORD + 1];
    size_t len = strlen(b);

    for (size_t j = 0; j <= len; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; a[i - 1]; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= len; j++) {
            unsigned replace = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            row[j] = MIN(replace, MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[len];
}

const struct cli_command *cli_help_guess(const char *word,
                                         const struct cli_command *commands,
                                         size_t count)
{
    const struct cli_command *best = NULL;
    unsigned least = MAX_MISTAKES + 1;

    if (strlen(word) < 2 || strlen(word) > MAX_WORD)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const char *name = commands[i].name;
        bool begun = g_str_has_prefix(name, word);
        unsigned mistakes = begun ? 0 : distance(word, name);

        if (commands[i].summary && mistakes < least &&
            mistakes < strlen(name) / 2 + begun) {
            least = mistakes;
            best = &commands[i];
        }
    }
    return best;
}
