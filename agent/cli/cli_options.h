/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_options - command lines of the commands, read in one way.
 */
#ifndef AGENT_CLI_CLI_OPTIONS_H
#define AGENT_CLI_CLI_OPTIONS_H

#include <glib.h>
#include <stdbool.h>

/* Parse a command's options; --help prints them and exits. strict: options
 * end at the first argument that is none, or at "--". On success argv holds
 * the command's name and the rest. False: the error is printed; the command
 * returns CLI_USAGE. */
bool cli_options_parse(const char *summary, const GOptionEntry *entries,
                       bool strict, int *argc, char ***argv);

/* The same; --help says details, too. */
bool cli_options_parse_with(const char *summary, const char *details,
                            const GOptionEntry *entries, bool strict, int *argc,
                            char ***argv);

/* Nothing in it can do anything to a terminal: what is not printable, as in the
 * names of files, is replaced. A new string. */
char *cli_options_printable(const char *text);

/* Print what is wrong with the command line; CLI_USAGE. */
int cli_options_wrong(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* What is a person's terminal is no program's: say what speaks here (a noun),
 * and how to leave. Before stdin and stdout are taken. */
void cli_options_note_terminal(const char *protocol);

/* Print an error; CLI_FAILED. */
int cli_options_failed(const char *format, ...) G_GNUC_PRINTF(1, 2);

#endif
