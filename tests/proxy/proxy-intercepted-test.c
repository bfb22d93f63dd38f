/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-intercepted-test - the time limits of an intercepted connection
 * (proxy/intercepted.h), here without TLS.
 */
#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/intercepted.h"

#define HOST "Host: api.example.org\r\n\r\n"

struct world {
    struct network_policy policy;
    struct interception setup;
    struct intercepted *intercepted;
    int guest, server, ends[2];
};

static void exchanged(const struct intercepted_request *request, void *opaque)
{
}

static void set_up(struct world *world, gconstpointer data)
{
    int guest[2], server[2];
    int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

    g_assert_cmpint(socketpair(AF_UNIX, type, 0, guest), ==, 0);
    g_assert_cmpint(socketpair(AF_UNIX, type, 0, server), ==, 0);
    world->policy.kind = NETWORK_ALLOW;
    g_assert_true(
        network_policy_add(&world->policy, "intercept:api.example.org", NULL));
    world->setup.policy = &world->policy;
    world->setup.exchanged = exchanged;
    world->guest = guest[0];
    world->server = server[0];
    world->ends[0] = guest[1];
    world->ends[1] = server[1];
    world->intercepted = intercepted_new(&world->setup, 1, "api.example.org",
                                         80, guest[1], false, "", 0);
    intercepted_connect(world->intercepted, server[1]);
}

static void tear_down(struct world *world, gconstpointer data)
{
    intercepted_free(world->intercepted);
    close(world->guest);
    close(world->server);
    close(world->ends[0]);
    close(world->ends[1]);
}

/* Send bytes of a side. Return the time limit after that. */
static gint64 say(struct world *world, int fd, const char *text)
{
    g_assert_cmpint(write(fd, text, strlen(text)), ==, (ssize_t)strlen(text));
    g_assert_cmpint(intercepted_run(world->intercepted), ==, INTERCEPTED_RUNS);
    return intercepted_until(world->intercepted);
}

static void test_head(struct world *world, gconstpointer data)
{
    gint64 before, first, second;

    g_assert_cmpint(intercepted_run(world->intercepted), ==, INTERCEPTED_RUNS);
    g_assert_cmpint(intercepted_until(world->intercepted), ==, 0);
    before = g_get_monotonic_time();
    first = say(world, world->guest, "G");
    g_assert_cmpint(first - before, >=, 30 * G_USEC_PER_SEC);
    g_assert_cmpint(first - g_get_monotonic_time(), <=, 30 * G_USEC_PER_SEC);
    /* Further bytes do not prolong it. */
    g_assert_cmpint(say(world, world->guest, "ET / HTTP/1.1\r\n"), ==, first);
    g_assert_cmpint(say(world, world->guest, HOST), ==, 0);
    g_assert_cmpint(say(world, world->server,
                        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
                    ==, 0);
    second = say(world, world->guest, "GET / HTTP/1.1\r\nA:");
    g_assert_cmpint(second, >, first);
    g_assert_cmpint(intercepted_expire(world->intercepted), ==,
                    INTERCEPTED_BROKEN);
    g_assert_cmpstr(intercepted_get_end(world->intercepted).reason, ==,
                    "no complete request within 30 s");
}

/* Answers of the relay's own come within one call. */
static void test_refused_heads(struct world *world, gconstpointer data)
{
    gint64 until, last = 0;

    g_assert_true(
        network_policy_add(&world->policy, "deny:PUT:api.example.org", NULL));
    until = say(world, world->guest, "PUT / HTTP/1.1\r\n");
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(until, >, last);
        last = until;
        while (g_get_monotonic_time() + 30 * G_USEC_PER_SEC <= last)
            ;
        until = say(world, world->guest, HOST "PUT / HTTP/1.1\r\n");
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/intercepted/a begun head has 30 s", struct world, NULL, set_up,
               test_head, tear_down);
    g_test_add("/intercepted/each head has its own limit", struct world, NULL,
               set_up, test_refused_heads, tear_down);
    return g_test_run();
}
