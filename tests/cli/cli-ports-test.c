/* SPDX-License-Identifier: Apache-2.0
 *
 * cli-ports-test - published ports on the command line, and the guest's reports
 * of its own.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/port_spec.h"
#include "agent/cli/cli_ports.h"
#include "agent/machine/guest_ports.h"
#include "common/errors.h"

static void test_syntax(void)
{
    static const struct {
        const char *text, *host;
        int guest;
    } good[] = {
        { "8080:80", "127.0.0.1:8080/tcp", 80 },
        { "8080:80/tcp", "127.0.0.1:8080/tcp", 80 },
        { "0:80", "127.0.0.1:0/tcp", 80 },
        { ":80", "127.0.0.1:0/tcp", 80 },
        { "0.0.0.0:53:5353/udp", "0.0.0.0:53/udp", 5353 },
        { "192.0.2.7::65535", "192.0.2.7:0/tcp", 65535 },
    };
    static const char *const bad[] = {
        "",           "80",          ":",
        "80:",        "80:0",        "65536:80",
        "80:65536",   "-1:80",       "+1:80",
        " 80:80",     "80:80 ",      "0x50:80",
        "a:80",       "1:2:3:4",     "80:80/",
        "80:80/sctp", "80:80/UDP",   "80/udp:80",
        "host:1:2",   "127.1:1:2",   "1.2.3.4.5:1:2",
        "::1:80:80",  "[::1]:80:80", ":80:80",
    };
    struct port_spec spec;
    char text[PORT_SPEC_TEXT];

    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        g_assert_true(port_spec_parse(good[i].text, &spec, NULL));
        g_assert_cmpstr(port_spec_format(&spec, text), ==, good[i].host);
        g_assert_cmpint(spec.guest_port, ==, good[i].guest);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;

        g_test_message("%s", bad[i]);
        g_assert_false(port_spec_parse(bad[i], &spec, &error));
        g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
    }
}

/* ---- the table ----------------------------------------------------------- */

static void add_row(const char *host, const char *guest, const char *status,
                    void *opaque)
{
    g_string_append_printf(opaque, "%s | %s | %s\n", host, guest, status);
}

static void test_table(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    json_t *answer = json_loads(
        "{\"published\":["
        "{\"address\":\"127.0.0.1\",\"host_port\":8080,\"guest_port\":80,"
        "\"protocol\":\"tcp\"},"
        "{\"address\":\"0.0.0.0\",\"host_port\":9000,\"guest_port\":90,"
        "\"protocol\":\"tcp\"},"
        "{\"address\":\"127.0.0.1\",\"host_port\":9001,\"guest_port\":91,"
        "\"protocol\":\"tcp\"},"
        "{\"address\":\"127.0.0.1\",\"host_port\":5353,\"guest_port\":53,"
        "\"protocol\":\"udp\"}],\"listening\":["
        "{\"port\":80,\"protocol\":\"tcp\",\"address\":\"::\"},"
        "{\"port\":90,\"protocol\":\"tcp\",\"address\":\"127.0.0.1\"},"
        "{\"port\":53,\"protocol\":\"tcp\",\"address\":\"0.0.0.0\"}]}",
        0, NULL);

    cli_ports_list(answer, add_row, text);
    json_decref(answer);
    g_assert_cmpstr(text->str, ==,
                    "127.0.0.1:8080 | 80/tcp | listening\n"
                    "0.0.0.0:9000 | 90/tcp | listens on the guest's loopback "
                    "only; bind 0.0.0.0\n"
                    "127.0.0.1:9001 | 91/tcp | not listening\n"
                    "127.0.0.1:5353 | 53/udp | -\n"
                    "- | 53/tcp | listening, not published\n");
}

/* ---- what a guest reports ------------------------------------------------ */

static gboolean parse(const char *text, struct guest_port_news *ret_news)
{
    json_t *message = json_loads(text, 0, NULL);
    g_autoptr(GError) error = NULL;
    gboolean ok = guest_ports_parse(message, ret_news, &error);

    g_assert_cmpint(ok, ==, error == NULL);
    json_decref(message);
    return ok;
}

static void test_reports_are_checked(void)
{
    static const char *const bad[] = {
        "{}",
        "{\"port\":0,\"protocol\":\"tcp\",\"address\":\"::\",\"open\":1}",
        "{\"port\":65536,\"protocol\":\"tcp\",\"address\":\"::\",\"open\":1}",
        "{\"port\":\"1\",\"protocol\":\"tcp\",\"address\":\"::\",\"open\":1}",
        "{\"port\":1,\"protocol\":\"icmp\",\"address\":\"::\",\"open\":1}",
        "{\"port\":1,\"protocol\":\"tcp\",\"address\":\"x\",\"open\":1}",
        "{\"port\":1,\"protocol\":\"tcp\",\"address\":\"1.2.3\",\"open\":1}",
        "{\"port\":1,\"protocol\":\"tcp\",\"address\":\"::\",\"open\":2}",
        "{\"port\":1,\"protocol\":\"tcp\",\"address\":\"::\"}",
    };
    struct guest_port_news news;

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(parse(bad[i], &news));
    g_assert_true(parse("{\"port\":80,\"protocol\":\"tcp\","
                        "\"address\":\"::ffff:1.2.3.4\",\"open\":1}",
                        &news));
    g_assert_true(news.open && news.port.address.v6);
}

static void test_reports_are_bounded(void)
{
    struct guest_port_news news = { .open = true };
    struct guest_ports ports = { 0 };

    for (unsigned i = 0; i < WIRE_PORTS_MAX; i++) {
        news.port.port = (guint16)(i + 1);
        g_assert_cmpint(guest_ports_note(&ports, &news, 0), ==,
                        GUEST_PORTS_CHANGED);
        g_assert_cmpint(guest_ports_note(&ports, &news, 0), ==,
                        GUEST_PORTS_SAME);
    }
    news.port.port = 9999;
    g_assert_cmpint(guest_ports_note(&ports, &news, 0), ==,
                    GUEST_PORTS_TOO_MANY);
    g_assert_cmpint(ports.count, ==, WIRE_PORTS_MAX);
    /* In any second, a guest causes no more than so many events. */
    news.port.port = 1;
    for (unsigned i = 0, events = 0; i < 100000; i++) {
        news.open = !news.open;
        events += guest_ports_note(&ports, &news, G_USEC_PER_SEC) ==
                  GUEST_PORTS_CHANGED;
        g_assert_cmpint(events, <=, GUEST_PORTS_NEWS);
    }
    news.open = ports.count == WIRE_PORTS_MAX;
    news.open = !news.open;
    g_assert_cmpint(guest_ports_note(&ports, &news, 2 * G_USEC_PER_SEC), ==,
                    GUEST_PORTS_CHANGED);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ports/syntax", test_syntax);
    g_test_add_func("/ports/table", test_table);
    g_test_add_func("/ports/reports-are-checked", test_reports_are_checked);
    g_test_add_func("/ports/reports-are-bounded", test_reports_are_bounded);
    return g_test_run();
}
