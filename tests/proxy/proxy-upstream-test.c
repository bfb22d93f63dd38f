/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-upstream-test - an upstream proxy's answers, and how long it may take.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/connection.h"
#include "proxy/upstream_answer.h"

/* ---- answers ------------------------------------------------------------- */

static void expect(const char *text, size_t step,
                   enum upstream_answer_verdict wanted, const char *problem,
                   const char *rest)
{
    struct upstream_answer answer = { 0 };
    enum upstream_answer_verdict verdict = UPSTREAM_ANSWER_MORE;
    size_t at = 0, used, length = strlen(text);

    while (at < length && verdict == UPSTREAM_ANSWER_MORE) {
        verdict = upstream_answer_read(&answer, text + at,
                                       MIN(step, length - at), &used);
        at += used;
    }
    g_assert_cmpint(verdict, ==, wanted);
    g_assert_cmpstr(answer.problem, ==, problem);
    if (rest)
        g_assert_cmpstr(text + at, ==, rest);
    upstream_answer_clear(&answer);
}

static void test_answers(void)
{
    static const struct {
        const char *text;
        enum upstream_answer_verdict verdict;
        const char *problem, *rest;
    } cases[] = {
        { "HTTP/1.1 200 OK\r\n\r\nrest\r\n\r\n", UPSTREAM_ANSWER_TUNNEL, NULL,
          "rest\r\n\r\n" },
        { "HTTP/1.0 299\r\nContent-Length: 4\r\n\r\nrest",
          UPSTREAM_ANSWER_TUNNEL, NULL, "rest" },
        { "HTTP/1.1 102 P\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
          UPSTREAM_ANSWER_TUNNEL, NULL, "" },
        { "HTTP/1.1 200 OK\r\n", UPSTREAM_ANSWER_MORE, NULL, "" },
        { "HTTP/1.1 407 Who\x1f\r\n", UPSTREAM_ANSWER_REFUSED,
          "the upstream proxy's answer is malformed: the status line has a "
          "control character",
          NULL },
        { "HTTP/1.1 407 Who?\r\n", UPSTREAM_ANSWER_REFUSED,
          "the upstream proxy answered 407 Who?; set HTTPS_PROXY to a URL with "
          "the right user and password",
          NULL },
        { "HTTP/1.1 504\r\n", UPSTREAM_ANSWER_REFUSED,
          "the upstream proxy answered 504", NULL },
        { "HTTP/1.1 200 OK\n", UPSTREAM_ANSWER_REFUSED,
          "the upstream proxy's answer is malformed: a line does not end with "
          "CR LF",
          NULL },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (size_t step = 1; step <= strlen(cases[i].text); step++)
            expect(cases[i].text, step, cases[i].verdict, cases[i].problem,
                   cases[i].rest);
    }
}

/* ---- time limits --------------------------------------------------------- */

struct place {
    struct poller *poller;
    struct connection *connection;
    int listener, guest;
    char *reason; /* of the end */
};

static void on_ended(struct connection *connection,
                     const struct connection_report *report, void *opaque)
{
    struct place *place = opaque;

    place->reason = g_strdup(report->reason ? report->reason : "");
    g_clear_pointer(&place->connection, connection_free);
}

/* Begin a connection through an upstream that accepts by itself, as the
 * listener's queue does, and says nothing. */
static void set_up(struct place *place, const struct interception *none)
{
    const struct connection_target target = { .name = "api.example.org",
                                              .port = 443,
                                              .kind = GUEST_CHECK_RAW };
    const struct network_address loopback = { .bytes = { 127, 0, 0, 1 } };
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof(at);
    struct upstream_server server = { 0 };
    int ends[2];

    place->listener = socket(AF_INET, SOCK_STREAM, 0);
    g_assert_true(
        bind(place->listener, (struct sockaddr *)&at, length) == 0 &&
        listen(place->listener, 4) == 0 &&
        getsockname(place->listener, (struct sockaddr *)&at, &length) == 0);
    g_assert_true(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) ==
                  0);
    place->guest = ends[0];
    place->poller = poller_new(NULL);
    place->connection = connection_new(place->poller, &target, none, ends[1],
                                       on_ended, place);
    server.port = ntohs(at.sin_port);
    connection_dial(place->connection, &loopback, 1, &server);
}

static void tear_down(struct place *place)
{
    connection_free(place->connection);
    poller_free(place->poller);
    close(place->listener);
    close(place->guest);
    g_free(place->reason);
}

/* Return a text that the upstream reads. */
static void read_request(int fd, char *room, size_t size)
{
    while (recv(fd, room, size - 1, MSG_PEEK | MSG_DONTWAIT) <= 0)
        g_main_context_iteration(NULL, TRUE);
    room[recv(fd, room, size - 1, 0)] = '\0';
}

static void test_upstream_has_30_s(void)
{
    const struct interception none = { 0 };
    struct place place = { 0 };
    gint64 begin = g_get_monotonic_time();
    char text[200];
    int fd;

    set_up(&place, &none);
    fd = accept(place.listener, NULL, NULL);
    read_request(fd, text, sizeof(text));
    g_assert_cmpstr(text, ==,
                    "CONNECT api.example.org:443 HTTP/1.1\r\n"
                    "Host: api.example.org:443\r\n\r\n");
    /* A part of the answer does not prolong it. */
    g_assert_cmpint(send(fd, "HTTP/1.1 200 OK\r\n", 17, 0), ==, 17);
    while (g_main_context_iteration(NULL, FALSE))
        continue;
    connection_tick(place.connection, begin + 29 * G_USEC_PER_SEC);
    g_assert_null(place.reason);
    connection_tick(place.connection,
                    g_get_monotonic_time() + 31 * G_USEC_PER_SEC);
    g_assert_cmpstr(place.reason, ==,
                    "the upstream proxy does not answer within 30 s");
    g_assert_cmpint(recv(fd, text, sizeof(text), 0), <=, 0);
    close(fd);
    tear_down(&place);
}

static void test_upstream_must_accept(void)
{
    const struct interception none = { 0 };
    struct place place = { 0 };

    set_up(&place, &none);
    connection_tick(place.connection,
                    g_get_monotonic_time() + 14 * G_USEC_PER_SEC);
    g_assert_null(place.reason);
    connection_tick(place.connection,
                    g_get_monotonic_time() + 16 * G_USEC_PER_SEC);
    g_assert_cmpstr(place.reason, ==,
                    "cannot connect to the upstream proxy within 15 s");
    tear_down(&place);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/upstream/answers are read strictly, however they come",
                    test_answers);
    g_test_add_func("/upstream/an answer must be whole within 30 s",
                    test_upstream_has_30_s);
    g_test_add_func("/upstream/a server must accept within 15 s",
                    test_upstream_must_accept);
    return g_test_run();
}
