/* SPDX-License-Identifier: Apache-2.0
 *
 * network-asks-test - questions of a proxy that a guest may have taken over.
 */
#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/machine/network_asks.h"

enum { MAX = 8 }; /* questions at a time */

struct world {
    int other; /* the proxy's end */
    struct control_link *link;
    struct network_asks *asks;
    struct network_policy policy;
    GString *seen; /* what the callbacks got */
    bool refuses;  /* each question, from within */
};

static void on_asked(const struct network_question *question, void *opaque)
{
    const struct network_answer busy = { .reason = "full", .is_busy = true };
    struct world *world = opaque;

    g_string_append_printf(world->seen, "%d %s:%u; ", (int)question->id,
                           question->name, question->port);
    if (world->refuses)
        network_asks_decide(world->asks, question->id, &busy);
}

static void on_withdrawn(gint64 id, void *opaque)
{
    struct world *world = opaque;

    g_string_append_printf(world->seen, "-%d; ", (int)id);
}

static const struct network_asks_callbacks callbacks = {
    .asked = on_asked,
    .withdrawn = on_withdrawn,
};

static void on_event(struct control_link *link, const char *type,
                     json_t *payload, void *opaque)
{
}

static void on_closed(struct control_link *link, void *opaque)
{
}

static const struct control_link_callbacks link_callbacks = {
    .event = on_event,
    .closed = on_closed,
};

static void set_up(struct world *world, gconstpointer data)
{
    static const char *const entries[] = { "ask:*", "plain.example.org",
                                           "deny:no.example.org" };
    int pair[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair),
                    ==, 0);
    world->other = pair[1];
    world->link = control_link_new(pair[0], &link_callbacks, world);
    world->asks = network_asks_new(&callbacks, world);
    world->seen = g_string_new(NULL);
    world->policy.kind = NETWORK_ALLOW;
    for (size_t i = 0; i < G_N_ELEMENTS(entries); i++)
        g_assert_true(network_policy_add(&world->policy, entries[i], NULL));
}

static void tear_down(struct world *world, gconstpointer data)
{
    network_asks_free(world->asks);
    control_link_free(world->link);
    close(world->other);
    g_string_free(world->seen, TRUE);
}

static void take(struct world *world, const char *type, const char *payload)
{
    json_t *object = json_loads(payload, 0, NULL);

    g_assert_nonnull(object);
    network_asks_take(world->asks, world->link, &world->policy, type, object);
    json_decref(object);
}

static void ask(struct world *world, int id, const char *name)
{
    g_autofree char *payload = g_strdup_printf(
        "{\"id\":%d,\"name\":\"%s\",\"port\":443}", id, name);

    take(world, "event.ask", payload);
}

/* Return the next message to the proxy: a new reference to its payload. */
static json_t *next_answer(struct world *world)
{
    g_autoptr(GString) line = g_string_new(NULL);
    json_t *message, *payload;
    char c = 0;

    while (g_main_context_iteration(NULL, FALSE))
        ;
    while (c != '\n') {
        g_assert_cmpint(recv(world->other, &c, 1, 0), ==, 1);
        g_string_append_c(line, c);
    }
    message = json_loads(line->str, 0, NULL);
    g_assert_cmpstr(json_string_value(json_object_get(message, "type")), ==,
                    "decide");
    payload = json_incref(json_object_get(message, "payload"));
    json_decref(message);
    return payload;
}

static bool is_silent(struct world *world)
{
    char c;

    while (g_main_context_iteration(NULL, FALSE))
        ;
    return recv(world->other, &c, 1, MSG_DONTWAIT) < 0;
}

static void test_other_questions(struct world *world, gconstpointer data)
{
    static const char *const payloads[] = {
        "{}",
        "[]",
        "{\"id\":1,\"name\":\"plain.example.org\",\"port\":443}",
        "{\"id\":1,\"name\":\"no.example.org\",\"port\":443}",
        "{\"id\":1,\"name\":\"a.example.org\",\"port\":22}",
        "{\"id\":1,\"name\":\"a.example.org\",\"port\":0}",
        "{\"id\":1,\"name\":\"a.example.org\",\"port\":65979}",
        "{\"id\":1,\"name\":\"a.example.org\",\"port\":-4294966853}",
        "{\"id\":1,\"name\":\"a.example.org\"}",
        "{\"id\":1,\"name\":\"a\\nb.example.org\",\"port\":443}",
        "{\"id\":1,\"name\":\"localhost\",\"port\":443}",
        "{\"id\":1,\"name\":\"*\",\"port\":443}",
        "{\"id\":1,\"name\":[\"a.example.org\"],\"port\":443}",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(payloads); i++) {
        take(world, "event.ask", payloads[i]);
        take(world, "event.ask_withdrawn", payloads[i]);
    }
    g_assert_cmpstr(world->seen->str, ==, "");
    g_assert_true(is_silent(world));
}

static void test_bound(struct world *world, gconstpointer data)
{
    for (int i = 0; i < 3 * MAX; i++) {
        g_autofree char *name = g_strdup_printf("n%d.example.org", i);

        ask(world, i / 2, name); /* each number twice */
    }
    g_assert_nonnull(strstr(world->seen->str, "8 n14.example.org:443; "));
    g_assert_null(strstr(world->seen->str, "9 "));
    g_assert_null(strstr(world->seen->str, "n1.example.org"));
    network_asks_stop(world->asks);
    g_assert_true(
        g_str_has_suffix(world->seen->str, "-1; -2; -3; -4; -5; -6; -7; -8; "));
    g_string_truncate(world->seen, 0);
    ask(world, 0, "A.example.org.");
    g_assert_cmpstr(world->seen->str, ==, "9 a.example.org:443; ");
}

static void test_rate(struct world *world, gconstpointer data)
{
    for (int i = 0; i < 100; i++) {
        g_autofree char *id = g_strdup_printf("{\"id\":%d}", i);

        ask(world, i, "a.example.org");
        take(world, "event.ask_withdrawn", id);
    }
    g_assert_true(
        g_str_has_suffix(world->seen->str, "40 a.example.org:443; -40; "));
}

static void test_answers(struct world *world, gconstpointer data)
{
    const struct network_answer yes = { .allow = true }, no = { 0 };
    json_t *answer, *wanted;

    ask(world, 5, "a.example.org");
    ask(world, 6, "b.example.org");
    ask(world, 7, "c.example.org");
    network_asks_decide(world->asks, 5, &yes); /* the proxy's number */
    g_assert_true(is_silent(world));
    g_assert_false(network_asks_has_allowed(world->asks, "a.example.org"));
    network_asks_decide(world->asks, 1, &yes);
    network_asks_decide(world->asks, 1, &no);
    network_asks_decide(world->asks, 2, &no);
    g_assert_true(network_asks_has_allowed(world->asks, "A.example.org"));
    g_assert_false(network_asks_has_allowed(world->asks, "b.example.org"));
    answer = next_answer(world);
    wanted = json_pack("{s:i, s:s, s:i, s:b}", "id", 5, "name", "a.example.org",
                       "port", 443, "allow", 1);
    g_assert_true(json_equal(answer, wanted));
    json_decref(answer);
    json_decref(wanted);
    answer = next_answer(world);
    wanted = json_pack("{s:i, s:s, s:i, s:b}", "id", 6, "name", "b.example.org",
                       "port", 443, "allow", 0);
    g_assert_true(json_equal(answer, wanted));
    json_decref(answer);
    json_decref(wanted);
    g_string_truncate(world->seen, 0);
    take(world, "event.ask_withdrawn", "{\"id\":7}");
    take(world, "event.ask_withdrawn", "{\"id\":7}");
    g_assert_cmpstr(world->seen->str, ==, "-3; ");
    network_asks_decide(world->asks, 3, &yes);
    g_assert_true(is_silent(world));
}

static void test_refusal_from_within(struct world *world, gconstpointer data)
{
    json_t *answer;

    world->refuses = true;
    ask(world, 1, "a.example.org");
    answer = next_answer(world);
    g_assert_cmpstr(json_string_value(json_object_get(answer, "reason")), ==,
                    "full");
    g_assert_cmpint(json_integer_value(json_object_get(answer, "seconds")), ==,
                    0);
    g_assert_nonnull(json_object_get(answer, "seconds"));
    json_decref(answer);
    network_asks_stop(world->asks);
    g_assert_cmpstr(world->seen->str, ==, "1 a.example.org:443; ");
}

#define ADD(path, test)                                                        \
    g_test_add("/network-asks/" path, struct world, NULL, set_up, test,        \
               tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("only-what-the-policy-asks-is-a-question", test_other_questions);
    ADD("eight-at-a-time-and-all-are-withdrawn-with-the-proxy", test_bound);
    ADD("forty-in-a-minute", test_rate);
    ADD("an-answer-counts-once-and-allows-the-name", test_answers);
    ADD("a-question-may-be-refused-from-within", test_refusal_from_within);
    return g_test_run();
}
