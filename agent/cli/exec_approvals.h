/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_approvals - ask the user of an attached terminal for the decisions that
 * a sandbox waits for.
 *
 * Allowing takes the word "allow" with a number that only this process and the
 * screen know: neither keys that were meant for the program, nor text that it
 * had the user type, paste or the terminal send, can allow anything. A question
 * that stops too much output ends without a decision. Without a terminal a line
 * names the command that decides.
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

/* Keys were typed. Return how many of these bytes a question takes: the rest is
 * for the program. ^C ends all questions, as exec_approvals_mute() does, and is
 * for the program. */
size_t exec_approvals_type(struct exec_approvals *approvals, const char *data,
                           size_t len);

/* If a question is asked, end it without a decision, and ask no more. */
void exec_approvals_mute(struct exec_approvals *approvals);

#endif
