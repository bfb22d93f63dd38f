/* SPDX-License-Identifier: Apache-2.0
 *
 * asks - connections to names under ask, held until a user decides.
 *
 * Connections to the same name and port share one question. Of a held one
 * nothing is read, and nothing is sent for it; its own time limits begin with
 * the decision. A guest that closes or half-closes it withdraws it: both look
 * the same from here, and a client that gave up must not leave its question.
 *
 * A guest can open connections at will. All limits are per sandbox; what is
 * beyond them is refused at once. A name and port that were refused stay so for
 * a while, because clients try again.
 *
 * Threads: one.
 */
#ifndef PROXY_ASKS_H
#define PROXY_ASKS_H

#include "common/network_policy.h"
#include "proxy/connection_report.h"
#include "proxy/poller.h"

enum {
    ASKS_OPEN_MAX = 8,   /* questions */
    ASKS_HELD_MAX = 64,  /* connections */
    ASKS_RATE_MAX = 20,  /* new questions in ASKS_RATE_S */
    ASKS_RATE_S = 60,    /* seconds */
    ASKS_HOLD_S = 1800,  /* the supervisor decides long before */
    ASKS_REFUSE_S = 60,  /* without a question, after a refusal */
    ASKS_REFUSE_MAX = 64 /* names and ports that are remembered */
};

struct asks;

/* fd is taken by allowed; report and its texts are borrowed. */
struct asks_callbacks {
    /* Ask the supervisor. Return false if that is not possible now. */
    bool (*ask)(gint64 id, const char *name, unsigned port, void *opaque);
    /* Nothing waits for the answer any more. */
    void (*withdrawn)(gint64 id, void *opaque);
    /* A held connection may go on: a user has allowed it, or the policy now
     * does, which target.asked tells apart. */
    void (*allowed)(const struct connection_target *target, int fd,
                    void *opaque);
    /* A connection has ended: it was refused, or the guest has closed it. */
    void (*ended)(const struct connection_report *report, void *opaque);
};

struct asks *asks_new(struct poller *poller,
                      const struct asks_callbacks *callbacks, void *opaque);
void asks_free(struct asks *asks);

/* Hold a connection, or refuse it. fd (taken) is the guest's side. */
void asks_hold(struct asks *asks, const struct connection_target *target,
               int fd);

/* Borrowed for the call. */
struct asks_decision {
    gint64 id;
    const char *name; /* normalized */
    unsigned port;
    bool allow;
    const char *reason; /* of a refusal; NULL: a user has denied it */
    unsigned seconds;   /* refuse the name and port for so long, at most
                           ASKS_REFUSE_S */
};

/* Decide a question. Return false if there is none with this id, name and
 * port. */
bool asks_decide(struct asks *asks, const struct asks_decision *decision);

/* Decide what a new policy decides. */
void asks_review(struct asks *asks, const struct network_policy *policy);

/* Return the number of held connections. */
unsigned asks_count(const struct asks *asks);

/* Call add for each held connection. */
void asks_list(const struct asks *asks,
               void (*add)(const struct connection_report *report,
                           void *opaque),
               void *opaque);

#endif
