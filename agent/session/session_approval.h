/* SPDX-License-Identifier: Apache-2.0
 *
 * session_approval - the queue of requests that a user of the host decides.
 *
 * The first answer counts, and without an answer in time a request is denied.
 * All listeners get an event when a request comes, and one when it is over. A
 * sandbox has at most APPROVALS_MAX pending ones, because a guest can ask.
 *
 * The decisions that safeguards ask for belong to session_guard.h.
 */
#ifndef AGENT_SESSION_SESSION_APPROVAL_H
#define AGENT_SESSION_SESSION_APPROVAL_H

#include "agent/base/reply.h"
#include "agent/session/grant_target.h"

struct session;

enum {
    APPROVALS_MAX = 8,
    APPROVAL_REASON_MAX = 500, /* bytes */
    APPROVAL_TIMEOUT_S = 300,
    APPROVAL_TIMEOUT_MAX_S = 24 * 3600,
};

enum approval_outcome {
    APPROVAL_PENDING,
    APPROVAL_ALLOWED,
    APPROVAL_DENIED,
    APPROVAL_TIMED_OUT,
    APPROVAL_WITHDRAWN, /* by the asker, or with the session */
};

enum approval_kind {
    APPROVAL_GRANT,   /* access to a folder */
    APPROVAL_NETWORK, /* connections to a name and port (session_asks.h) */
};

struct approval {
    enum approval_kind kind;
    char *id;
    const char *origin;         /* "api", "mcp" or "guest": static */
    gint64 exec_id;             /* of a guest's; else 0 */
    struct grant_target target; /* this and the next one: of a grant */
    bool read_only;             /* asked for */
    char *name;                 /* these: of a network question; normalized */
    unsigned port;
    gint64 question;  /* network_asks.h */
    bool is_listed;   /* allowed by an entry of the policy, not once */
    char *reason;     /* UTF-8, may be empty */
    gint64 requested; /* CLOCK_REALTIME, us */
    unsigned timeout_s;
    enum approval_outcome outcome;
    /* Of an allowed one: the folder, borrowed. */
    const struct session_directory *directory;

    /* Private to the session's files. */
    struct session *session;
    struct reply reply; /* to the asker */
    gint64 deadline;    /* monotonic, us */
    guint timer;
    bool is_decided;           /* the decision is being carried out */
    bool is_withdrawn;         /* meanwhile, by the asker */
    struct decision *decision; /* that waits for its turn, or NULL */
};

/* The answer to a request (session_approval_decide()). path and access are
 * for grants. */
struct approval_decision {
    const char *id;
    bool allow;
    const char *path;   /* a folder within the one asked for, or NULL */
    const char *access; /* "read_only", "read_write", or NULL: as asked for */
    bool is_kept;       /* always, not once */
};

/* Create session.approvals. */
GPtrArray *session_approval_new_list(void);

/* Add a request (taken; id, session, requested and deadline are set), and start
 * its time. On failure free it, and return FALSE with ERROR_BUSY. */
gboolean session_approval_add(struct session *session,
                              struct approval *approval, GError **error);
void session_approval_free(struct approval *approval);

/* Return the pending request with this id, or NULL. */
struct approval *session_approval_find(const struct session *session,
                                       const char *id);

/* Return the pending requests: of struct approval, borrowed. */
const GPtrArray *session_approvals(const struct session *session);

/* Its time stands still while the folder is added, and goes on if that
 * failed. */
void session_approval_hold(struct approval *approval, bool hold);

/* The request is over: answer the asker and the decider (or NULL), tell all
 * listeners, and forget it. */
void session_approval_end(struct approval *approval,
                          enum approval_outcome outcome, struct reply *decider);

#endif
