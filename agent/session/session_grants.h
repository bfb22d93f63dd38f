/* SPDX-License-Identifier: Apache-2.0
 *
 * session_grants - access to further folders: asked for from within a sandbox,
 * decided by a user of the host.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_SESSION_SESSION_GRANTS_H
#define AGENT_SESSION_SESSION_GRANTS_H

#include "agent/session/session.h"
#include "agent/session/session_approval.h"

struct grant_request {
    const char *path; /* of the host, absolute; bytes */
    bool read_only;
    const char *reason; /* UTF-8, or NULL */
    const char *origin; /* static (session_approval.h) */
    gint64 exec_id;
    unsigned timeout_s; /* 0: the default */
};

/* Ask; request is borrowed. The answer comes when the request is over: with
 * "approval", whose folder the guest then has, or ERROR_DENIED, ERROR_TIMEOUT,
 * ERROR_CANCELLED. At once: ERROR_NO_SESSION, ERROR_BUSY (too many pending),
 * ERROR_INVALID_FIELD, ERROR_TOO_LARGE. */
void session_grant_request(struct session *session,
                           const struct grant_request *request, reply_done done,
                           void *opaque);

/* Return the pending request with this opaque argument, or NULL. */
const struct approval *session_grant_find(const struct session *session,
                                          const void *opaque);

/* The asker is gone: withdraw its requests, those with this opaque argument or
 * of this execution. Nothing is answered to it. */
void session_grant_withdraw(struct session *session, const void *opaque);
void session_grant_withdraw_execution(struct session *session, gint64 exec_id);

/* Decide a pending request, also one of a safeguard, by its id. The answer to
 * an allowed one comes when the guest has the folder, and has "approval"; one
 * that cannot be carried out is an error, and the request stays pending.
 * Errors: ERROR_NOT_FOUND (also: decided already), ERROR_BUSY (it is being
 * carried out), ERROR_INVALID_FIELD (not narrower), those of
 * session_folder_add(). A denial is answered before the call returns. */
void session_approval_decide(struct session *session,
                             const struct approval_decision *decision,
                             reply_done done, void *opaque);

/* The session runs: add the folders of kept grants. What cannot be added is a
 * warning. Answers the start at its end. */
void session_grants_restore(struct session *session);

/* The session has ended: withdraw all requests. */
void session_grants_end(struct session *session);

#endif
