/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_request - the requests from the guest about steps, and the steps and
 * scopes of an execution; private to session_guest_steps.c.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_GUEST_REQUEST_H
#define AGENT_SESSION_GUEST_REQUEST_H

#include "agent/session/session_execution.h"
#include "agent/session/step_budget.h"

struct guest_scope {
    char *name, *text;
};

struct guest_request {
    guint64 serial; /* unlike the number not chosen by the guest */
    gint64 number, exec_id;
    gint64 order; /* the last execution before the request */
    enum guest_step_op op;
    char *scope, *text;
    gint64 count;
    int exit_code;
    bool has_processes;
    char *answer,
        *error; /* the answer, when the enclosing scope's step is open */
};

struct guest_steps {
    GPtrArray *scopes; /* of struct guest_scope, the innermost is the last */
    GArray *own;       /* of gint64: ids of closed steps */
    bool busy;         /* a step is being opened or closed, or an undo runs */
    struct guest_request
        *active; /* the request that is being carried out, or NULL */
    struct step_budget budget;
    guint linger; /* timer: no scope is open, but its last step, or 0 */
};

/* Return the execution's state, which is created if necessary. */
struct guest_steps *guest_steps_get(struct execution *execution);
bool guest_steps_is_own(const struct guest_steps *steps, gint64 id);

/* Return whether the open step belongs to the execution. */
bool guest_steps_hold_turn(const struct execution *execution);

/* Create session.guest_requests. */
GPtrArray *guest_request_new_list(void);
void guest_steps_free(struct guest_steps *steps); /* or NULL */

/* Keep the report of a completed step for list and diff. */
void guest_steps_record(struct session *session, struct step_report *report);

/* Return the pending request with this serial number, or NULL. */
struct guest_request *guest_request_find(const struct session *session,
                                         guint64 serial);

/* Return whether a request with this number (the guest's) is pending. */
bool guest_request_is_pending(const struct session *session, gint64 number);

/* Return why this request is refused, or NULL. execution: that of the request,
 * or NULL. */
const char *guest_request_find_refusal(const struct session *session,
                                       const struct execution *execution,
                                       const struct guest_request *request);

/* Answer the request and forget it. The functions that return a bool return
 * true. */
void guest_request_answer(struct session *session,
                          struct guest_request *request, gint64 step_id,
                          const char *text, const char *error);
bool guest_request_refuse(struct session *session,
                          struct guest_request *request, const char *error);
bool guest_request_list(struct session *session,
                        const struct guest_steps *steps,
                        struct guest_request *request);
bool guest_request_diff(struct session *session,
                        const struct guest_steps *steps,
                        struct guest_request *request);

/* End this scope and those within it. Return false if there is none. */
bool guest_scope_leave(struct guest_steps *steps, const char *name);
void guest_scope_enter(struct guest_steps *steps,
                       struct guest_request *request);
const struct guest_scope *
guest_scope_innermost(const struct guest_steps *steps);

#endif
