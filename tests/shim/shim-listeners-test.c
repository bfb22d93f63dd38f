/* SPDX-License-Identifier: Apache-2.0
 *
 * shim-listeners-test - the shim reports the ports at which programs listen.
 *
 * The host's own listeners are reported as well, because the shim shares the
 * host's network here; the tests look for their own.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/listeners.h"
#include "shim/wire.h"
#include "tests/shim/shim_client.h"

enum { WITHIN_MS = 2 * WIRE_PORTS_MS + 1000 };

/* ---- the table ----------------------------------------------------------- */

static void test_parse(void)
{
    struct listener listener;
    char address[INET6_ADDRSTRLEN];

    g_assert_true(listeners_parse(
        "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000",
        false, &listener));
    g_assert_cmpint(listener.port, ==, 8080);
    g_assert_cmpstr(
        inet_ntop(AF_INET, listener.address, address, sizeof(address)), ==,
        "127.0.0.1");
    g_assert_true(listeners_parse(
        "  12: 00000000000000000000000001000000:0016 "
        "00000000000000000000000000000000:0000 0A 00000000:00000000",
        true, &listener));
    g_assert_cmpint(listener.port, ==, 22);
    g_assert_cmpstr(
        inet_ntop(AF_INET6, listener.address, address, sizeof(address)), ==,
        "::1");
    /* Connections, the heading, and what is no line of this table. */
    g_assert_false(listeners_parse("   1: 0100007F:1F90 0100007F:D431 01 0:0",
                                   false, &listener));
    g_assert_false(listeners_parse("  sl  local_address rem_address   st",
                                   false, &listener));
    g_assert_false(
        listeners_parse("   0: 0100007F:1F90 00000000", false, &listener));
    g_assert_false(listeners_parse("   0: 01", false, &listener));
    g_assert_false(listeners_parse("", false, &listener));
}

static void test_differences(void)
{
    struct listeners listeners = { 0 };
    struct listener found;
    bool open;

    listeners_watch(&listeners);
    for (uint16_t i = 0; i < WIRE_PORTS_MAX; i++)
        listeners.found[i] = (struct listener){ .port = (uint16_t)(i + 1) };
    listeners.n_found = WIRE_PORTS_MAX;
    for (int i = 0; i < WIRE_PORTS_MAX; i++) {
        g_assert_true(listeners_next(&listeners, &found, &open));
        g_assert_true(open);
    }
    g_assert_false(listeners_next(&listeners, &found, &open));
    /* A closed port makes room for another. */
    listeners.found[5].port = 9999;
    g_assert_true(listeners_next(&listeners, &found, &open));
    g_assert_cmpint(found.port, ==, 6);
    g_assert_false(open);
    g_assert_true(listeners_next(&listeners, &found, &open));
    g_assert_cmpint(found.port, ==, 9999);
    g_assert_true(open);
    g_assert_false(listeners_next(&listeners, &found, &open));
}

/* ---- the shim ------------------------------------------------------------ */

static int listen_at(const char *address, int *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    inet_pton(AF_INET, address, &at.sin_addr);
    g_assert_no_errno(fd);
    g_assert_no_errno(bind(fd, (struct sockaddr *)&at, sizeof(at)));
    g_assert_no_errno(listen(fd, 1));
    g_assert_no_errno(getsockname(fd, (struct sockaddr *)&at, &length));
    *ret_port = ntohs(at.sin_port);
    return fd;
}

/* Wait for the report of this port; its address must be this one. */
static void expect_port(struct shim_client *shim, int port, const char *address,
                        int open)
{
    gint64 end = g_get_monotonic_time() + WITHIN_MS * 1000;

    while (g_get_monotonic_time() < end) {
        json_t *message = shim_receive(shim);
        bool found = g_str_equal(shim_text(message, "type"), WIRE_PORT) &&
                     shim_number(message, "port") == port;

        if (found) {
            g_assert_cmpstr(shim_text(message, "address"), ==, address);
            g_assert_cmpstr(shim_text(message, "protocol"), ==, WIRE_TCP);
            g_assert_cmpint(shim_number(message, "open"), ==, open);
        }
        json_decref(message);
        if (found)
            return;
    }
    g_assert_not_reached();
}

static void test_reports(struct shim_client *shim, gconstpointer data)
{
    int port, fd;

    shim_expect_hello(shim);
    shim_send_text(shim, "{\"type\":\"watch_ports\"}\n");
    fd = listen_at("127.0.0.1", &port);
    shim_send_exec(shim, 1, "sleep 8");
    expect_port(shim, port, "127.0.0.1", 1);
    close(fd);
    expect_port(shim, port, "127.0.0.1", 0);
    fd = listen_at("0.0.0.0", &port);
    expect_port(shim, port, "0.0.0.0", 1);
    /* Another host hears of all of them again. */
    shim_send_text(shim, "{\"type\":\"watch_ports\"}\n");
    expect_port(shim, port, "0.0.0.0", 1);
    close(fd);
}

/* The shim stays quiet about ports, and commands are answered as before. */
static void test_unwatched(struct shim_client *shim, gconstpointer data)
{
    int port, fd;

    shim_expect_hello(shim);
    fd = listen_at("127.0.0.1", &port);
    shim_check_run(shim, 1, "sleep 1.5; echo done", "done\n", "", 0);
    close(fd);
}

static const struct shim_test tests[] = {
    { "listeners-are-reported", test_reports },
    { "nothing-is-reported-unasked", test_unwatched },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/listeners/parse", test_parse);
    g_test_add_func("/listeners/differences", test_differences);
    shim_add_tests(tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
