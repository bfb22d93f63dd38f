/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_approvals - ask the user of an attached terminal for the decisions that
 * a sandbox waits for.
 *
 * A question is answered by a whole word and Enter, so that a key that was
 * meant for the program decides nothing. Bytes that a program can make a
 * terminal send (escape sequences), and text that was pasted, are no answer.
 * Without a terminal a line names the command that decides.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_CLI_EXEC_APPROVALS_H
#define AGENT_CLI_EXEC_APPROVALS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct exec_approvals;

struct exec_approvals_callbacks {
    void (*decide)(const char *id, bool allow, void *opaque);
    /* A question begins: hold the output of the program (true); it has ended
     * (false). */
    void (*pause)(bool pause, void *opaque);
};

/* sandbox: its name (copied). terminal: stdin is a terminal in raw mode. */
struct exec_approvals *
exec_approvals_new(const char *sandbox, bool terminal,
                   const struct exec_approvals_callbacks *callbacks,
                   void *opaque);

/* Free it; a question on the terminal ends. NULL is allowed. */
void exec_approvals_free(struct exec_approvals *approvals);

/* Take an event about a request or a safeguard (borrowed). Return false if it
 * is another event. */
bool exec_approvals_take(struct exec_approvals *approvals, const char *type,
                         json_t *payload);

/* Take the answer to approval.list (borrowed). */
void exec_approvals_take_list(struct exec_approvals *approvals,
                              json_t *payload);

/* A decision was refused; problem: why. */
void exec_approvals_refused(struct exec_approvals *approvals,
                            const char *problem);

/* Keys were typed. Return whether a question takes them. */
bool exec_approvals_type(struct exec_approvals *approvals, const char *data,
                         size_t len);

#endif
