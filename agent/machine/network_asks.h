/* SPDX-License-Identifier: Apache-2.0
 *
 * network_asks - questions of the proxy about names under ask.
 *
 * proxy/asks.h holds the connections and limits what a guest can ask. The proxy
 * reads data of the guest, which may have taken it over: a question must be one
 * that the policy asks, there are few at a time and in a minute, and a name is
 * resolved only after a user has allowed it.
 *
 * Threads: all on the main thread.
 */
#ifndef AGENT_MACHINE_NETWORK_ASKS_H
#define AGENT_MACHINE_NETWORK_ASKS_H

#include <jansson.h>

#include "agent/client/control_link.h"
#include "common/network_policy.h"

/* May a connection go to this name and port? */
struct network_question {
    gint64 id;        /* never used twice for a machine */
    const char *name; /* normalized; borrowed */
    unsigned port;
};

struct network_asks_callbacks {
    /* For network_asks_decide(), also from within. */
    void (*asked)(const struct network_question *question, void *opaque);
    /* Nothing waits for the decision any more. */
    void (*withdrawn)(gint64 id, void *opaque);
};

struct network_answer {
    bool allow;
    const char *reason; /* of a refusal; NULL: a user has denied it */
    bool is_busy;       /* no user was asked: the next connection may ask */
};

struct network_asks;

struct network_asks *
network_asks_new(const struct network_asks_callbacks *callbacks, void *opaque);
void network_asks_free(struct network_asks *asks);

/* Take event.ask or event.ask_withdrawn of proxy/control.h, if it is one. The
 * link (borrowed until network_asks_stop()) takes the answer. */
void network_asks_take(struct network_asks *asks, struct control_link *link,
                       const struct network_policy *policy, const char *type,
                       json_t *payload);

/* Answer a question; ignored if it was withdrawn. */
void network_asks_decide(struct network_asks *asks, gint64 id,
                         const struct network_answer *answer);

/* Return whether a connection to this name was allowed. */
bool network_asks_has_allowed(const struct network_asks *asks,
                              const char *name);

/* Withdraw the questions that this policy answers; the proxy judges the
 * connections by it. */
void network_asks_review(struct network_asks *asks,
                         const struct network_policy *policy);

/* The proxy has ended: withdraw all questions. */
void network_asks_stop(struct network_asks *asks);

#endif
