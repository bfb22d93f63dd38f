/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_client - attach this process's standard streams to an execution of a
 * sandbox.
 *
 * With a terminal, keys go to the guest as they are typed, and changes of the
 * size too; without one, signals are passed on. Output is read from the
 * sandbox only as fast as stdout and stderr take it.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_CLI_EXEC_CLIENT_H
#define AGENT_CLI_EXEC_CLIENT_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "agent/sandbox/sandbox_record.h"

struct exec_client_options {
    bool input;       /* pass on standard input */
    bool terminal;    /* stdin is a terminal, in raw mode */
    const char *keys; /* what detaches (exec_keys.h), or NULL; borrowed */
    bool report;      /* print what the step changed */
    bool is_shell; /* the report is of the last line: only if it has changes */
    const char *undo_hint; /* how to undo it; NULL: "stepback undo"; borrowed */
    bool warnings; /* print event.warning, of all that happens in the sandbox */
    bool network;  /* print those about the network, after the end if there is a
                      terminal */
    bool cancels;  /* a signal cancels the execution, as in "run" */
};

/* Start an execution (payload of exec.start; taken) or attach to one (payload
 * of exec.attach; taken), and serve it until its end or a detach. Return the
 * exit code for this program: that of the execution, or CLI_RUN_FAILED after an
 * error was printed. */
int exec_client_run(const struct sandbox_record *record, const char *type,
                    json_t *payload, const struct exec_client_options *options);

#endif
