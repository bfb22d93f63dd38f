/* SPDX-License-Identifier: Apache-2.0
 *
 * session_spread - a request to several folders' daemons; for session_undo.c.
 *
 * One folder after the other is asked the same, and that is a phase. When all
 * have answered, or one has refused, its owner goes on: with another phase, or
 * by session_spread_finish(), which frees it.
 *
 * One daemon carries out its requests in their order; between several requests,
 * nobody else may change what they find (session_spread_occupy()).
 */
#ifndef AGENT_SESSION_SESSION_SPREAD_H
#define AGENT_SESSION_SESSION_SPREAD_H

#include "agent/session/session_core.h"

struct session_spread;

struct session_spread_owner {
    /* All have answered. */
    void (*answered)(struct session_spread *spread);
    /* The folder next has not; result (taken) is how far its daemon got. */
    void (*failed)(struct session_spread *spread, const GError *error,
                   struct undo_result *result);
};

struct session_spread {
    struct session *session;
    struct reply reply;
    const struct session_spread_owner *owner;
    const char *type;  /* what is asked of the daemons in the end */
    const char *phase; /* what is asked of them now */
    json_t *payload;   /* for all the same; or NULL: by counts and force */
    unsigned steps;
    gint64 step_id; /* in place of steps; 0: none */
    bool force;
    bool occupies; /* the session */

    unsigned folders[SESSION_MAX_DIRECTORIES];
    unsigned n;
    unsigned counts[SESSION_MAX_DIRECTORIES]; /* steps to go, in each */
    unsigned next;                            /* of the folders: who is asked */

    /* Of what goes back over several folders: the ids of each one's next steps,
     * as its history had them (NULL: none), and how often that was found out.
     */
    GArray *planned[SESSION_MAX_DIRECTORIES]; /* of gint64 */
    unsigned plans;

    /* The answers of this phase; of a history the redo_steps and redoable, too.
     */
    GPtrArray *lists[SESSION_MAX_DIRECTORIES], *redos[SESSION_MAX_DIRECTORIES];
    unsigned redoable[SESSION_MAX_DIRECTORIES];
    struct undo_result *result; /* barriers, warnings and not_restored */
    json_t *last;
};

/* A request to the folder that is named; else to all that keep steps; else to
 * the first, whose daemon knows why it keeps none. NULL: it was refused, and
 * who asked is told. payload is taken. */
struct session_spread *
session_spread_new(struct session *session, const char *type,
                   const struct session_spread_owner *owner,
                   struct folder_ref directory, json_t *payload,
                   reply_done done, void *opaque);

/* Keep others out until the end: it takes several requests. */
void session_spread_occupy(struct session_spread *spread);

/* Ask them all: "history" for so many steps, or another type with the payload,
 * or with counts (those of 0 are passed by) and force. */
void session_spread_begin(struct session_spread *spread, const char *phase);

const char *session_spread_label(const struct session_spread *spread,
                                 unsigned i);

/* Answer the caller, and nothing is under way any more. answer is borrowed; its
 * result may be the spread's. */
void session_spread_finish(struct session_spread *spread,
                           const struct answer *answer, const GError *error);

/* The same before anything was asked: error is taken. */
void session_spread_refuse(struct session_spread *spread, GError *error);

#endif
