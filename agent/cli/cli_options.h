/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_options - common parsing of command lines.
 */
#ifndef AGENT_CLI_CLI_OPTIONS_H
#define AGENT_CLI_CLI_OPTIONS_H

#include <glib.h>
#include <stdbool.h>

/* Parse a command's options; --help prints them and exits. strict: options end
 * at the first non-option argument, or at "--". On success argv holds the
 * command's name and the remaining arguments. False: the error was printed; the
 * command returns CLI_USAGE. */
bool cli_options_parse(const char *summary, const GOptionEntry *entries,
                       bool strict, int *argc, char ***argv);

/* The same, with additional details for --help. */
bool cli_options_parse_with(const char *summary, const char *details,
                            const GOptionEntry *entries, bool strict, int *argc,
                            char ***argv);

/* Return a copy that is safe to print as part of a line: unprintable characters
 * and line breaks, such as in file names, are replaced. A guest chooses many
 * texts, and could forge lines. A new string. */
char *cli_options_printable(const char *text);

/* Print an error in the command line; return CLI_USAGE. */
int cli_options_wrong(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* The same for an argument that the command does not take. */
int cli_options_surplus(const char *command, const char *argument);

/* If stdin is a terminal, print a note that this command speaks a protocol (a
 * noun) and how to end it. Call before stdin and stdout are taken. */
void cli_options_note_terminal(const char *protocol);

/* Print an error; return CLI_FAILED. */
int cli_options_failed(const char *format, ...) G_GNUC_PRINTF(1, 2);

#endif
