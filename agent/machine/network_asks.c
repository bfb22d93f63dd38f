/* SPDX-License-Identifier: Apache-2.0
 *
 * network_asks - see network_asks.h.
 */
#include "agent/machine/network_asks.h"

#include <string.h>

/* A proxy that keeps to its own limits (proxy/asks.h) stays within these. */
enum { OPEN_MAX = 8, RATE_MAX = 40, RATE_S = 60 };

enum { ALLOWED_MAX = 1024 };

struct question {
    gint64 id, peer_id; /* peer_id: the proxy's */
    char name[NETWORK_NAME_MAX + 1];
    unsigned port;
};

struct network_asks {
    const struct network_asks_callbacks *callbacks;
    void *opaque;
    struct control_link *link; /* NULL: there is no question */
    GPtrArray *open;           /* of struct question */
    GHashTable *allowed;       /* of names */
    gint64 last_id;
    gint64 minute;  /* monotonic, us: its begin */
    unsigned asked; /* in this minute */
};

struct network_asks *
network_asks_new(const struct network_asks_callbacks *callbacks, void *opaque)
{
    struct network_asks *asks = g_new0(struct network_asks, 1);

    asks->callbacks = callbacks;
    asks->opaque = opaque;
    asks->open = g_ptr_array_new_with_free_func(g_free);
    asks->allowed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                          NULL);
    return asks;
}

void network_asks_free(struct network_asks *asks)
{
    if (!asks)
        return;
    g_ptr_array_unref(asks->open);
    g_hash_table_unref(asks->allowed);
    g_free(asks);
}

/* Return the question and its index, or NULL. */
static struct question *find(const struct network_asks *asks, gint64 id,
                             bool of_peer, guint *ret_index)
{
    for (guint i = 0; i < asks->open->len; i++) {
        struct question *question = g_ptr_array_index(asks->open, i);

        *ret_index = i;
        if ((of_peer ? question->peer_id : question->id) == id)
            return question;
    }
    return NULL;
}

static bool asks_too_often(struct network_asks *asks)
{
    gint64 now = g_get_monotonic_time();

    if (asks->minute == 0 || now - asks->minute >= RATE_S * G_USEC_PER_SEC) {
        asks->minute = now;
        asks->asked = 0;
    }
    return asks->asked++ >= RATE_MAX;
}

/* No user is asked: the next connection may ask again. */
static void turn_away(struct network_asks *asks,
                      const struct question *question)
{
    control_link_request(
        asks->link, "decide",
        json_pack("{s:I, s:s, s:i, s:b, s:s, s:i}", "id",
                  (json_int_t)question->peer_id, "name", question->name, "port",
                  (int)question->port, "allow", false, "reason",
                  "too many connections wait for a decision", "seconds", 0),
        NULL, NULL);
}

static void ask(struct network_asks *asks, const struct network_policy *policy,
                json_t *payload)
{
    const char *name = json_string_value(json_object_get(payload, "name"));
    json_int_t port = json_integer_value(json_object_get(payload, "port"));
    json_int_t id = json_integer_value(json_object_get(payload, "id"));
    g_autofree struct question *question = g_new0(struct question, 1);
    guint index;

    if (!name || !network_name_normalize(name, question->name) || port < 1 ||
        port > G_MAXUINT16 || find(asks, id, true, &index))
        return;
    /* If the policy has just changed, the proxy judges by the new one soon. */
    if (network_policy_judge_name(policy, name, (unsigned)port) != NAME_ASK)
        return;
    question->peer_id = id;
    question->port = (unsigned)port;
    if (asks->open->len == OPEN_MAX || asks_too_often(asks)) {
        turn_away(asks, question);
        return;
    }
    question->id = ++asks->last_id;
    const struct network_question asked = { question->id, question->name,
                                            question->port };
    g_ptr_array_add(asks->open, g_steal_pointer(&question));
    asks->callbacks->asked(&asked, asks->opaque);
}

static void withdraw(struct network_asks *asks, guint index)
{
    const struct question *question = g_ptr_array_index(asks->open, index);
    gint64 id = question->id;

    g_ptr_array_remove_index(asks->open, index);
    asks->callbacks->withdrawn(id, asks->opaque);
}

void network_asks_take(struct network_asks *asks, struct control_link *link,
                       const struct network_policy *policy, const char *type,
                       json_t *payload)
{
    guint index;

    asks->link = link;
    if (strcmp(type, "event.ask") == 0)
        ask(asks, policy, payload);
    else if (strcmp(type, "event.ask_withdrawn") == 0 &&
             find(asks, json_integer_value(json_object_get(payload, "id")),
                  true, &index))
        withdraw(asks, index);
}

static void note_allowed(struct network_asks *asks, const char *name)
{
    if (g_hash_table_size(asks->allowed) == ALLOWED_MAX)
        g_hash_table_remove_all(asks->allowed);
    g_hash_table_add(asks->allowed, g_strdup(name));
}

void network_asks_decide(struct network_asks *asks, gint64 id,
                         const struct network_answer *answer)
{
    guint index;
    const struct question *question = find(asks, id, false, &index);
    json_t *payload;

    if (!question)
        return;
    payload = json_pack("{s:I, s:s, s:i, s:b, s:s*}", "id",
                        (json_int_t)question->peer_id, "name", question->name,
                        "port", (int)question->port, "allow", answer->allow,
                        "reason", answer->allow ? NULL : answer->reason);
    if (answer->is_busy)
        json_object_set_new(payload, "seconds", json_integer(0));
    if (answer->allow)
        note_allowed(asks, question->name);
    g_ptr_array_remove_index(asks->open, index);
    control_link_request(asks->link, "decide", payload, NULL, NULL);
}

bool network_asks_has_allowed(const struct network_asks *asks, const char *name)
{
    char normal[NETWORK_NAME_MAX + 1];

    return network_name_normalize(name, normal) &&
           g_hash_table_contains(asks->allowed, normal);
}

void network_asks_review(struct network_asks *asks,
                         const struct network_policy *policy)
{
    for (guint i = asks->open->len; i > 0; i--) {
        const struct question *question;

        if (i > asks->open->len) /* a callback has decided others */
            continue;
        question = g_ptr_array_index(asks->open, i - 1);
        if (network_policy_judge_name(policy, question->name, question->port) !=
            NAME_ASK)
            withdraw(asks, i - 1);
    }
}

void network_asks_stop(struct network_asks *asks)
{
    asks->link = NULL;
    while (asks->open->len > 0)
        withdraw(asks, 0);
}
