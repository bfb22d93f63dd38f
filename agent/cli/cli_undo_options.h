/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_undo_options - the steps that the command lines of undo, preview and redo
 * name.
 */
#ifndef AGENT_CLI_CLI_UNDO_OPTIONS_H
#define AGENT_CLI_CLI_UNDO_OPTIONS_H

#include "agent/cli/cli_output.h"
#include "agent/cli/cli_place.h"

struct cli_undo_options {
    struct cli_place place;
    struct cli_output_options output;
    gboolean force, json, ambient;
    char *step_word, *to_word; /* as given; owned, or NULL */
};

#define CLI_UNDO_STEPS(options)                                                \
    { "step",                                                                  \
      0,                                                                       \
      0,                                                                       \
      G_OPTION_ARG_STRING,                                                     \
      &(options)->step_word,                                                   \
      "instead of N: this step and all newer ones",                            \
      "ID" },                                                                  \
        { "to",                                                                \
          0,                                                                   \
          0,                                                                   \
          G_OPTION_ARG_STRING,                                                 \
          &(options)->to_word,                                                 \
          "instead of N: all steps newer than this one, which stays",          \
          "ID" },                                                              \
    {                                                                          \
        "ambient", 0, 0, G_OPTION_ARG_NONE, &(options)->ambient,               \
            "count steps of changes outside commands, too", NULL               \
    }

void cli_undo_options_clear(struct cli_undo_options *options);

/* Set the extent from "[N]" (argv[1]) and the options. Return false if they are
 * wrong or contradict each other, after printing the error in the name of this
 * command. */
bool cli_undo_options_extent(const char *name,
                             const struct cli_undo_options *options, int argc,
                             char **argv, struct cli_extent *ret_extent);

#endif
