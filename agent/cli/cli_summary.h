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
#include "agent/cli/cli_output.h"

/* One line: the changes of a step and how to undo it. */
char *cli_summary_step(const struct step_report *report, const char *undo_hint);

/* One line: the changes that a recovery rolled back (the payload of
 * event.recovery). */
char *cli_summary_recovery(json_t *payload);

/* One line: an unfinished step was kept (the payload of the warning
 * "step_unfinished"). */
char *cli_summary_unfinished(json_t *payload);

/* A line for the history: an outside edit between steps. Here and below, width
 * is that of the terminal, or 0. */
char *cli_summary_barrier(const struct undo_barrier *barrier, unsigned width);

/* One line: a step's id, time, command, and what undo would change. */
char *cli_summary_preview(const struct step_report *report, unsigned width);

/* A path, with what is not printable escaped, shortened in the middle. */
char *cli_summary_path(const char *path, unsigned width);

/* The report's changes, one per line. Each has its executions, if not all
 * changes have the same. */
char *cli_summary_changes(const struct step_report *report,
                          const struct cli_output *output);

/* The command of the step that an answer to "status", or one of
 * cli_place_history(), says to be open; empty if it has none. */
char *cli_summary_open_command(json_t *answer);

/* A row of the history: time and command are NULL if the record cannot be
 * read. */
struct cli_row {
    gint64 id;
    char *time, *changes, *command; /* new strings */
};

/* command_max: characters of the command; 0: as many as off a terminal. */
void cli_summary_row(const struct step_report *report, int command_max,
                     struct cli_row *ret_row);
void cli_row_clear(struct cli_row *row);

/* Say on stderr that the kernel has killed processes of the sandbox because its
 * memory was used up; nothing for 0. */
void cli_summary_tell_oom(int kills);

#endif
