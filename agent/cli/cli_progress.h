/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_progress - a line on stderr that says what a command waits for.
 *
 * The line is rewritten in place and erased at the end. It is printed on
 * terminals only. There is one such line for the process.
 */
#ifndef AGENT_CLI_CLI_PROGRESS_H
#define AGENT_CLI_CLI_PROGRESS_H

struct cli_progress;

/* Return what the command waits for; NULL: nothing to print now. */
typedef const char *(*cli_progress_what)(void *opaque);

/* Print the line several times a second, with the seconds since this call,
 * while the main loop runs. */
struct cli_progress *cli_progress_new(cli_progress_what what, void *opaque);

/* If a line is shown, erase it until the next turn. Call it before anything
 * else is printed on the terminal. */
void cli_progress_hide(void);

/* Erase the line for good. NULL is allowed. */
void cli_progress_free(struct cli_progress *progress);

/* Replace the current line of stderr by this text (printable), cut to the
 * terminal's width; "" erases it. Does nothing off a terminal. */
void cli_progress_rewrite(const char *text);

#endif
