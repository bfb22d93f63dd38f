/* SPDX-License-Identifier: Apache-2.0
 *
 * cli_join - use a sandbox that runs instead of starting a machine.
 */
#ifndef AGENT_CLI_CLI_JOIN_H
#define AGENT_CLI_CLI_JOIN_H

#include <glib.h>
#include <stdbool.h>

#include "agent/cli/cli_machine.h"
#include "agent/sandbox/sandbox_record.h"

/* Find the sandbox that runs over a folder, and wait until one that starts
 * there is running. exact: a sandbox of a folder above does not count. Set
 * *ret_record (new; NULL: there is none). Return false if there are several or
 * on failure; the error was printed. */
bool cli_join_find(const char *dir, bool exact,
                   struct sandbox_record **ret_record);

/* Refuse options that the sandbox's machine does not have: it would not be what
 * was asked for. executions: also options of executions, as the caller starts
 * none with them. other: another option that a running machine cannot take, or
 * NULL. Return false after printing the error. */
bool cli_join_check(const struct sandbox_record *record,
                    const struct cli_machine *machine, bool executions,
                    const char *other);

struct cli_join {
    const char *dir;     /* where the command begins */
    const char *command; /* a line for the guest's shell */
    const char *undo_hint;
    gint64 timeout_seconds; /* 0: no limit */
};

/* Run a command as "run" does. Returns its exit code. */
int cli_join_run(const struct sandbox_record *record,
                 const struct cli_machine *machine,
                 const struct cli_join *join);

#endif
