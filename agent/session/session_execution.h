/* SPDX-License-Identifier: Apache-2.0
 *
 * session_execution - the executions of a session, private to the files that
 * start and serve them.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_SESSION_EXECUTION_H
#define AGENT_SESSION_SESSION_EXECUTION_H

#include "agent/session/exec_ring.h"
#include "agent/session/session_core.h"
#include "agent/session/session_party.h"

struct execution {
    struct session *session;
    gint64 id;
    struct exec *exec; /* NULL: it has ended */
    /* session_execute(): output goes to all listeners, and the execution is
     * forgotten at its end. */
    bool is_plain;
    struct reply executor;             /* of a plain one */
    const struct session_party *party; /* NULL: detached */
    bool was_detached;      /* the end of its party does not hang it up */
    size_t unconsumed;      /* bytes that the party holds */
    struct exec_ring *ring; /* the latest output; NULL: a plain one */
    guint64 shown;          /* offset of what no party has got yet */
    GArray *waiters;        /* of struct reply */

    char *command, *label;
    bool has_terminal;
    enum command_step step;
    struct guest_steps *guest_steps; /* session_guest_steps.h, or NULL */
    gint64 started, ended;           /* CLOCK_REALTIME, us */
    guint64 output_bytes;

    /* How it ended. */
    guint64 oom_before; /* machine_oom_kills() when it started */
    struct command_end end;
    gint64 step_id;
    struct step_report *report;
    GError *error;
};

void execution_free(struct execution *execution);

/* Return the execution with this id, or NULL. */
struct execution *execution_find(const struct session *session, gint64 id);

/* The same; sets ERROR_NOT_FOUND. */
struct execution *execution_get(const struct session *session, gint64 id,
                                GError **error);

/* Add an execution of a checked command (taken). Nothing starts yet. */
struct execution *execution_add(struct session *session,
                                struct command *command);

/* Start it, or, with a step, let it wait for its turn. */
void execution_begin(struct execution *execution);

/* Make it the execution whose step is open, with a new step id. */
void execution_take_turn(struct execution *execution);

/* Return whether an execution with a step would start at once. */
bool execution_is_turn(const struct session *session);

/* Fill in how it ended; borrowed from the execution. */
void execution_get_exit(const struct execution *execution,
                        struct exec_exit *ret_exit);

/* Attach a party, or none. What the former one holds counts as consumed. */
void execution_set_party(struct execution *execution,
                         const struct session_party *party);

/* Check a command, and complete its guest path and the text of a prompt. */
gboolean execution_complete(const struct session *session,
                            struct command *command, GError **error);

#endif
