/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_summary - effect reports as text for people.
 *
 * Reports are those of the control protocol (borrowed); each function returns
 * a new string. Names that are not text, or would move the terminal's cursor,
 * are escaped.
 */
#ifndef AGENT_CLI_CLI_SUMMARY_H
#define AGENT_CLI_CLI_SUMMARY_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* One line: what a step has changed and how it is undone. */
char *cli_summary_step(json_t *report, const char *undo_hint);

/* One line: what a recovery took back. */
char *cli_summary_recovery(json_t *report);

/* One line: that a step was left as it is (the code "step_unfinished"). */
char *cli_summary_unfinished(json_t *report);

/* A line for the history: a change from outside, between steps. */
char *cli_summary_barrier(json_t *barrier);

/* One line: a step's id, time, command and changes; of a preview, what undo
 * would change. */
char *cli_summary_history(json_t *report);
char *cli_summary_preview(json_t *report);

/* The report's changes, a line each. Names are escaped so that none can do
 * anything to a terminal. */
char *cli_summary_changes(json_t *report);

/* A row of the history: time and command are NULL if the step cannot be read.
 */
struct cli_row {
    gint64 id;
    char *time, *changes, *command; /* new strings */
};

void cli_summary_row(json_t *report, struct cli_row *ret_row);
void cli_row_clear(struct cli_row *row);

#endif
