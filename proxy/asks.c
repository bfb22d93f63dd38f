/* SPDX-License-Identifier: Apache-2.0
 *
 * asks - see asks.h.
 */
#include "proxy/asks.h"

#include <string.h>
#include <sys/epoll.h>

#include "common/fd.h"
#include "common/network_name.h"

struct held {
    struct ask *ask;
    struct connection_target target;
    int fd;
    struct watch watch;
    gint64 since; /* monotonic, us */
};

struct ask {
    struct asks *asks;
    gint64 id;
    char name[HOST_NAME_ROOM];
    unsigned port;
    GPtrArray *held; /* of struct held */
    guint timer;
};

struct past_refusal {
    char name[HOST_NAME_ROOM];
    unsigned port;
    gint64 until; /* monotonic, us */
};

struct asks {
    struct poller *poller;
    const struct asks_callbacks *callbacks;
    void *opaque;
    GPtrArray *open; /* of struct ask */
    unsigned held;
    gint64 last_id;
    gint64 minute;   /* monotonic, us: its begin */
    unsigned asked;  /* in this minute */
    GQueue refusals; /* of struct past_refusal, the oldest first */
};

/* ---- held connections ---------------------------------------------------- */

static void held_free(gpointer data)
{
    struct held *held = data;
    struct asks *asks = held->ask->asks;

    poller_forget(asks->poller, &held->watch);
    fd_close(&held->fd);
    asks->held--;
    g_free(held);
}

static void ask_free(gpointer data)
{
    struct ask *ask = data;

    g_clear_handle_id(&ask->timer, g_source_remove);
    g_ptr_array_unref(ask->held);
    g_free(ask);
}

static struct ask *find(const struct asks *asks, const char *name,
                        unsigned port)
{
    for (guint i = 0; i < asks->open->len; i++) {
        struct ask *ask = g_ptr_array_index(asks->open, i);

        if (ask->port == port && strcmp(ask->name, name) == 0)
            return ask;
    }
    return NULL;
}

static void end(struct asks *asks, const struct connection_target *target,
                gint64 since, const char *reason)
{
    g_autofree char *allow = network_name_is_web(target->port)
                                 ? g_strdup(target->name)
                                 : g_strdup_printf("%s:%u", target->name,
                                                   target->port);
    const struct connection_report report = {
        .target = target,
        .refused = reason != NULL,
        .reason = reason,
        .allow = reason ? allow : NULL,
        .milliseconds = (g_get_monotonic_time() - since) / 1000,
    };

    asks->callbacks->ended(&report, asks->opaque);
}

/* Remove the question: callbacks may ask another one. */
static struct ask *steal(struct ask *ask)
{
    guint index = 0;

    if (g_ptr_array_find(ask->asks->open, ask, &index))
        g_ptr_array_steal_index(ask->asks->open, index);
    return ask;
}

/* The question is over. */
static void refuse_all(struct ask *ask, const char *reason)
{
    steal(ask);
    for (guint i = 0; i < ask->held->len; i++) {
        const struct held *held = g_ptr_array_index(ask->held, i);

        end(ask->asks, &held->target, held->since, reason);
    }
    ask_free(ask);
}

static void allow_all(struct ask *ask, bool asked)
{
    struct asks *asks = ask->asks;

    steal(ask);
    for (guint i = 0; i < ask->held->len; i++) {
        struct held *held = g_ptr_array_index(ask->held, i);

        poller_forget(asks->poller, &held->watch);
        held->target.asked = asked;
        asks->callbacks->allowed(&held->target, fd_steal(&held->fd),
                                 asks->opaque);
    }
    ask_free(ask);
}

/* The guest has closed it. */
static void on_gone(uint32_t events, void *opaque)
{
    struct held *held = opaque;
    struct ask *ask = held->ask;
    struct asks *asks = ask->asks;

    end(asks, &held->target, held->since, NULL);
    g_ptr_array_remove(ask->held, held);
    if (ask->held->len > 0)
        return;
    asks->callbacks->withdrawn(ask->id, asks->opaque);
    ask_free(steal(ask));
}

static gboolean on_time(gpointer data)
{
    struct ask *ask = data;
    struct asks *asks = ask->asks;

    ask->timer = 0;
    asks->callbacks->withdrawn(ask->id, asks->opaque);
    refuse_all(ask, "the question was not answered");
    return G_SOURCE_REMOVE;
}

/* ---- refusals ------------------------------------------------------------ */

static void remember(struct asks *asks, const char *name, unsigned port,
                     unsigned seconds)
{
    struct past_refusal *refusal;

    if (seconds == 0)
        return;
    if (asks->refusals.length == ASKS_REFUSE_MAX)
        g_free(g_queue_pop_head(&asks->refusals));
    refusal = g_new0(struct past_refusal, 1);
    g_strlcpy(refusal->name, name, sizeof(refusal->name));
    refusal->port = port;
    refusal->until = g_get_monotonic_time() +
                     MIN(seconds, ASKS_REFUSE_S) * G_USEC_PER_SEC;
    g_queue_push_tail(&asks->refusals, refusal);
}

static bool was_refused(const struct asks *asks,
                        const struct connection_target *target)
{
    gint64 now = g_get_monotonic_time();

    for (GList *at = asks->refusals.head; at; at = at->next) {
        const struct past_refusal *refusal = at->data;

        if (refusal->until > now && refusal->port == target->port &&
            strcmp(refusal->name, target->name) == 0)
            return true;
    }
    return false;
}

/* ---- questions ----------------------------------------------------------- */

static bool asks_too_often(struct asks *asks)
{
    gint64 now = g_get_monotonic_time();

    if (now - asks->minute >= ASKS_RATE_S * G_USEC_PER_SEC) {
        asks->minute = now;
        asks->asked = 0;
    }
    return asks->asked >= ASKS_RATE_MAX;
}

static struct ask *ask_new(struct asks *asks,
                           const struct connection_target *target)
{
    struct ask *ask = g_new0(struct ask, 1);

    ask->asks = asks;
    ask->id = ++asks->last_id;
    g_strlcpy(ask->name, target->name, sizeof(ask->name));
    ask->port = target->port;
    ask->held = g_ptr_array_new_with_free_func(held_free);
    ask->timer = g_timeout_add_seconds(ASKS_HOLD_S, on_time, ask);
    return ask;
}

/* Return why there can be no question about the connection, or NULL. */
static const char *find_objection(struct asks *asks,
                                  const struct connection_target *target)
{
    if (was_refused(asks, target))
        return "it was denied less than a minute ago";
    if (asks->held >= ASKS_HELD_MAX)
        return "64 connections are held for a decision already";
    if (find(asks, target->name, target->port))
        return NULL;
    if (asks->open->len >= ASKS_OPEN_MAX)
        return "8 questions wait for a decision already";
    if (asks_too_often(asks))
        return "the sandbox has asked 20 questions in a minute; connect again "
               "in a minute";
    return NULL;
}

/* Return NULL if the supervisor cannot be asked. */
static struct ask *find_or_ask(struct asks *asks,
                               const struct connection_target *target)
{
    struct ask *ask = find(asks, target->name, target->port);

    if (ask)
        return ask;
    ask = ask_new(asks, target);
    if (!asks->callbacks->ask(ask->id, ask->name, ask->port, asks->opaque)) {
        ask_free(ask);
        return NULL;
    }
    asks->asked++;
    g_ptr_array_add(asks->open, ask);
    return ask;
}

void asks_hold(struct asks *asks, const struct connection_target *target,
               int fd)
{
    fd_auto int guest = fd;
    gint64 now = g_get_monotonic_time();
    const char *objection = find_objection(asks, target);
    struct ask *ask = objection ? NULL : find_or_ask(asks, target);
    struct held *held;

    if (!ask) {
        end(asks, target, now,
            objection ? objection : "the supervisor cannot be asked now");
        return;
    }
    held = g_new0(struct held, 1);
    held->ask = ask;
    held->target = *target;
    held->since = now;
    held->watch.ready = on_gone;
    held->watch.opaque = held;
    held->fd = fd_steal(&guest);
    g_ptr_array_add(ask->held, held);
    asks->held++;
    if (poller_watch(asks->poller, &held->watch, held->fd, EPOLLRDHUP) < 0)
        on_gone(0, held);
}

/* ---- decisions ----------------------------------------------------------- */

bool asks_decide(struct asks *asks, const struct asks_decision *decision)
{
    struct ask *ask = find(asks, decision->name, decision->port);

    if (!ask || ask->id != decision->id)
        return false;
    if (decision->allow) {
        allow_all(ask, true);
        return true;
    }
    remember(asks, decision->name, decision->port, decision->seconds);
    refuse_all(ask,
               decision->reason ? decision->reason : "a user has denied it");
    return true;
}

void asks_review(struct asks *asks, const struct network_policy *policy)
{
    g_autoptr(GPtrArray) decided = g_ptr_array_new();

    for (guint i = 0; i < asks->open->len; i++) {
        const struct ask *ask = g_ptr_array_index(asks->open, i);

        if (network_policy_judge_name(policy, ask->name, ask->port) != NAME_ASK)
            g_ptr_array_add(decided, (gpointer)ask);
    }
    for (guint i = 0; i < decided->len; i++) {
        struct ask *ask = g_ptr_array_index(decided, i);

        asks->callbacks->withdrawn(ask->id, asks->opaque);
        if (network_policy_judge_name(policy, ask->name, ask->port) ==
            NAME_DENIED)
            refuse_all(ask, "the policy does not allow the name");
        else
            allow_all(ask, false);
    }
}

/* ---- interface ----------------------------------------------------------- */

unsigned asks_count(const struct asks *asks)
{
    return asks->held;
}

void asks_list(const struct asks *asks,
               void (*add)(const struct connection_report *report,
                           void *opaque),
               void *opaque)
{
    gint64 now = g_get_monotonic_time();

    for (guint i = 0; i < asks->open->len; i++) {
        const struct ask *ask = g_ptr_array_index(asks->open, i);

        for (guint j = 0; j < ask->held->len; j++) {
            const struct held *held = g_ptr_array_index(ask->held, j);
            const struct connection_report report = {
                .target = &held->target,
                .reason = "held for a decision",
                .milliseconds = (now - held->since) / 1000,
            };

            add(&report, opaque);
        }
    }
}

struct asks *asks_new(struct poller *poller,
                      const struct asks_callbacks *callbacks, void *opaque)
{
    struct asks *asks = g_new0(struct asks, 1);

    asks->poller = poller;
    asks->callbacks = callbacks;
    asks->opaque = opaque;
    asks->open = g_ptr_array_new_with_free_func(ask_free);
    asks->minute = g_get_monotonic_time();
    g_queue_init(&asks->refusals);
    return asks;
}

void asks_free(struct asks *asks)
{
    if (!asks)
        return;
    g_ptr_array_unref(asks->open);
    g_queue_clear_full(&asks->refusals, g_free);
    g_free(asks);
}
