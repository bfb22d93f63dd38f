/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_summary - effect reports as text for people.
 *
 * Each function returns a new string. Unprintable names and terminal control
 * characters are escaped.
 */
#ifndef AGENT_CLI_CLI_SUMMARY_H
#define AGENT_CLI_CLI_SUMMARY_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/base/undo_result.h"

/* One line: the changes of a step and how to undo it. */
char *cli_summary_step(const struct step_report *report, const char *undo_hint);

/* One line: the changes that a recovery rolled back (the payload of
 * event.recovery). */
char *cli_summary_recovery(json_t *payload);

/* One line: an unfinished step was kept (the payload of the warning
 * "step_unfinished"). */
char *cli_summary_unfinished(json_t *payload);

/* A line for the history: an outside edit between steps. */
char *cli_summary_barrier(const struct undo_barrier *barrier);

/* One line: a step's id, time, command and changes; for a preview, what undo
 * would change. */
char *cli_summary_history(const struct step_report *report);
char *cli_summary_preview(const struct step_report *report);

/* The report's changes, one per line, with names escaped for terminals. */
char *cli_summary_changes(const struct step_report *report);

/* A row of the history: time and command are NULL if the record cannot be
 * read. */
struct cli_row {
    gint64 id;
    char *time, *changes, *command; /* new strings */
};

void cli_summary_row(const struct step_report *report, struct cli_row *ret_row);
void cli_row_clear(struct cli_row *row);

#endif
