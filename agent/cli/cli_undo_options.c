/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_undo_options - see cli_undo_options.h.
 */
#include "agent/cli/cli_undo_options.h"

#include <string.h>

#include "agent/cli/cli.h"
#include "agent/cli/cli_options.h"

void cli_undo_options_clear(struct cli_undo_options *options)
{
    cli_place_clear(&options->place);
    g_free(options->output.color);
    g_free(options->step_word);
    g_free(options->to_word);
}

/* A word that is no number is likely a path. */
static void print_no_count(const char *command, const char *word)
{
    bool is_path = word[strspn(word, G_CSET_DIGITS)] && *word != '-' &&
                   strcmp(command, "undo") == 0;

    cli_options_wrong("%s: '%s' is not a step count; %s%s%s'" CLI_PROGRAM
                      " %s 2' takes the two newest",
                      command, word, is_path ? "'" CLI_PROGRAM " undo -- " : "",
                      is_path ? word : "", is_path ? "' restores a path, " : "",
                      command);
}

/* Parse "[N]"; print a message and return 0 if it is not a count. */
static guint64 parse_steps(const char *command, int argc, char **argv)
{
    guint64 steps = 1;

    if (argc > 2)
        cli_options_surplus(command, argv[2]);
    else if (argc < 2 || g_ascii_string_to_unsigned(
                             argv[1], 10, 1, CLI_MAX_STEPS, &steps, NULL))
        return steps;
    else
        print_no_count(command, argv[1]);
    return 0;
}

/* Parse the step of an option; word may be NULL, for 0. If it is not a step
 * number, print a message and return false. */
static bool parse_step(const char *name, const char *option, const char *word,
                       gint64 *ret_step)
{
    gint64 step;

    *ret_step = 0;
    if (!word)
        return true;
    if (g_ascii_string_to_signed(word, 10, G_MININT64, G_MAXINT64, &step,
                                 NULL) &&
        step != 0) {
        *ret_step = step;
        return true;
    }
    cli_options_wrong("%s: --%s: '%s' is not a step number; '" CLI_PROGRAM
                      " history' lists them",
                      name, option, word);
    return false;
}

bool cli_undo_options_extent(const char *name,
                             const struct cli_undo_options *options, int argc,
                             char **argv, struct cli_extent *ret_extent)
{
    guint64 steps = parse_steps(name, argc, argv);
    gint64 step, to;

    if (steps == 0 || !parse_step(name, "step", options->step_word, &step) ||
        !parse_step(name, "to", options->to_word, &to))
        return false;
    if ((step || to) && (argc > 1 || options->ambient || (step && to))) {
        cli_options_wrong("%s: --%s excludes a number of steps, --ambient and "
                          "--%s",
                          name, step ? "step" : "to", step ? "to" : "step");
        return false;
    }
    *ret_extent = (struct cli_extent){
        .steps = (gint64)steps,
        .step_id = step,
        .keep = to,
        .counts = options->ambient ? "changes" : "commands",
        .force = options->force,
    };
    return true;
}
