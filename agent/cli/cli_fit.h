/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_fit - fit text into the columns of a terminal.
 *
 * The text is printable UTF-8 without line breaks. A wide character takes two
 * columns, a combining mark none.
 */
#ifndef AGENT_CLI_CLI_FIT_H
#define AGENT_CLI_CLI_FIT_H

/* Return how many columns the text takes. */
unsigned cli_fit_columns(const char *text);

/* Return a copy of at most width columns, with "..." where text was removed: in
 * the middle, or at the end. width 0: no limit. A new string. */
char *cli_fit_middle(const char *text, unsigned width);
char *cli_fit_end(const char *text, unsigned width);

/* Return the text as lines of at most width columns, with "\n" between them;
 * mark begins all but the first one. width: at least two more than the mark's.
 * A new string. */
char *cli_fit_wrap(const char *text, unsigned width, const char *mark);

/* Return a copy that is filled with spaces up to width columns. A new
 * string. */
char *cli_fit_pad(const char *text, unsigned width);

#endif
