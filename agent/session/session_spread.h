/* SPDX-License-Identifier: Apache-2.0
 *
 * session_spread - fan a request out to several folders' daemons; used by
 * session_undo.c.
 *
 * In one phase each folder in turn receives the same request. When all have
 * answered, or one has refused, the owner continues with another phase or ends
 * with session_spread_finish(), which frees the object.
 *
 * A daemon carries out its requests in order. Across several requests,
 * session_spread_occupy() keeps other callers from changing the state in
 * between.
 */
#ifndef AGENT_SESSION_SESSION_SPREAD_H
#define AGENT_SESSION_SESSION_SPREAD_H

#include "agent/session/session_core.h"

struct session_spread;

struct session_spread_owner {
    /* All folders have answered. */
    void (*answered)(struct session_spread *spread);
    /* The folder "next" has failed; result (taken) is how far its daemon
     * got. */
    void (*failed)(struct session_spread *spread, const GError *error,
                   struct undo_result *result);
};

struct session_spread {
    struct session *session;
    struct reply reply;
    const struct session_spread_owner *owner;
    const char *type;  /* the final request */
    const char *phase; /* the request of this phase */
    json_t *payload;   /* the same for all folders; NULL: built from counts and
                          force */
    unsigned steps;
    gint64 step_id; /* instead of steps; 0: none */
    bool force;
    bool occupies; /* the session */

    unsigned folders[SESSION_MAX_DIRECTORIES];
    unsigned n;
    unsigned counts[SESSION_MAX_DIRECTORIES]; /* steps to undo in each folder */
    unsigned next; /* index of the folder whose answer is awaited */

    /* For an undo across several folders: the ids of each folder's next steps
     * according to its history (NULL: none), and the number of plans made. */
    GArray *planned[SESSION_MAX_DIRECTORIES]; /* of gint64 */
    unsigned plans;

    /* The answers of this phase; of a history also redo_steps and redoable. */
    GPtrArray *lists[SESSION_MAX_DIRECTORIES], *redos[SESSION_MAX_DIRECTORIES];
    unsigned redoable[SESSION_MAX_DIRECTORIES];
    struct undo_result *result; /* barriers, warnings and not_restored */
    json_t *last;
};

/* Create a request to the named folder; otherwise to all folders that record
 * steps; otherwise to the first, whose daemon reports why it does not. Returns
 * NULL if the request was refused; the caller has then been answered. payload
 * is taken. */
struct session_spread *
session_spread_new(struct session *session, const char *type,
                   const struct session_spread_owner *owner,
                   struct folder_ref directory, json_t *payload,
                   reply_done done, void *opaque);

/* Exclude other callers until the end, for operations of several requests. */
void session_spread_occupy(struct session_spread *spread);

/* Start a phase: "history" for this many steps, or another type with the
 * payload, or with counts (folders with 0 are skipped) and force. */
void session_spread_begin(struct session_spread *spread, const char *phase);

const char *session_spread_label(const struct session_spread *spread,
                                 unsigned i);

/* Answer the caller and end the operation. answer is borrowed; its result may
 * belong to the object. */
void session_spread_finish(struct session_spread *spread,
                           const struct answer *answer, const GError *error);

/* The same before any request was sent: error is taken. */
void session_spread_refuse(struct session_spread *spread, GError *error);

#endif
