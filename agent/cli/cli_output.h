/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_output - how a command prints on stdout: width, colour and pager.
 *
 * Off a terminal the output has no width, and no colour unless asked for. All
 * is decided before a pager takes stdout's place.
 */
#ifndef AGENT_CLI_CLI_OUTPUT_H
#define AGENT_CLI_CLI_OUTPUT_H

#include <glib.h>
#include <stdbool.h>

/* The values as given on the command line. color: owned, or NULL. */
struct cli_output_options {
    char *color;
    gboolean no_pager;
};
typedef struct cli_output_options cli_output_options;

void cli_output_options_clear(struct cli_output_options *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(cli_output_options, cli_output_options_clear)

#define CLI_OUTPUT_COLOR(options)                                              \
    {                                                                          \
        "color", 0, 0, G_OPTION_ARG_STRING, &(options)->color,                 \
            "colour the output: auto (default: on a terminal), always or "     \
            "never",                                                           \
            "WHEN"                                                             \
    }
#define CLI_OUTPUT_PAGER(options)                                              \
    {                                                                          \
        "no-pager", 0, 0, G_OPTION_ARG_NONE, &(options)->no_pager,             \
            "print long output on a terminal without a pager", NULL            \
    }

enum cli_paint { PAINT_ID, PAINT_GOOD, PAINT_BAD, PAINT_OTHER, PAINT_HEAD };

struct cli_output {
    bool terminal, color;
    unsigned width; /* columns; 0: no limit */
    bool may_page;
    GPid pager;      /* 0: none */
    int kept_stdout; /* while there is a pager */
};

/* Decide how this command prints. Return false if --color is invalid, after
 * printing the error in the name of the command. */
bool cli_output_init(struct cli_output *output, const char *command,
                     const struct cli_output_options *options);

/* On a terminal, start the pager, unless it is disabled: what is printed on
 * stdout from now on goes there. */
void cli_output_page(struct cli_output *output);

/* Wait until the user has left the pager, if there is one. A pager that was
 * left before it read everything is no error. */
void cli_output_end(struct cli_output *output);

/* Return text in this colour, or as it is: a new string. */
char *cli_output_paint(const struct cli_output *output, enum cli_paint paint,
                       const char *text);

#endif
