/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_question - the text of a question in an attached terminal.
 *
 * The program in the guest has the same terminal, and chooses parts of the
 * text: names and the reason. No mode that it has set may hide a part of the
 * question, and no text of its choice may begin a row.
 */
#ifndef AGENT_CLI_EXEC_QUESTION_H
#define AGENT_CLI_EXEC_QUESTION_H

#include <jansson.h>
#include <stdbool.h>

/* Return the question about a request or a safeguard: lines, each with "\n" at
 * its end. The subject has a line of its own. A new string. */
char *exec_question_text(json_t *payload, const char *id, bool safeguard);

/* Return it as one line, without "\n", for output that asks nothing. A new
 * string. */
char *exec_question_line(json_t *payload, const char *id, bool safeguard);

/* Return the lines of a question as rows for a terminal in raw mode; a row that
 * continues a line has a mark. Return NULL if these, and some rows for the
 * answer, exceed the terminal's size. A new string. */
char *exec_question_rows(const char *text, unsigned rows, unsigned columns);

/* Return the control sequences that let all text be seen, and begin a row at
 * the bottom. rows: of the terminal, to scroll its text up and leave it empty;
 * 0: keep it. A new string.
 *
 * The modes are not restored: a program sets them again when it redraws. The
 * saved cursor (DECSC) and the modes of the keys stay. */
char *exec_question_begin(unsigned rows);

#endif
