/* SPDX-License-Identifier: Apache-2.0
 *
 * net-policy-test - which addresses a policy permits, without a network.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "common/network_reserved.h"
#include "net/frame_filter.h"

static struct network_address address_of(const char *text)
{
    struct network_address address = { .v6 = strchr(text, ':') != NULL };

    g_assert_cmpint(
        inet_pton(address.v6 ? AF_INET6 : AF_INET, text, address.bytes), ==, 1);
    return address;
}

/* 192.0.2.1 and 2001:db8::1 are the host. */
static bool is_host(const struct network_address *address, void *opaque)
{
    char text[INET6_ADDRSTRLEN];

    network_address_format(address, text);
    return strcmp(text, "192.0.2.1") == 0 || strcmp(text, "2001:db8::1") == 0;
}

/* Return whether a policy, as JSON, permits a guest to reach the address by a
 * port. */
static bool reaches(const char *policy, const char *text)
{
    struct network_address address = address_of(text);
    g_autofree struct frame_filter *filter = g_new0(struct frame_filter, 1);
    json_t *value = json_loads(policy, JSON_DECODE_ANY, NULL);
    GError *error = NULL;
    bool found;

    filter->is_host = is_host;
    network_policy_parse(value, &filter->policy, &error);
    g_assert_no_error(error);
    found = frame_filter_may_reach(filter, &address, 80);
    json_decref(value);
    return found;
}

#define EVERYTHING "\"0.0.0.0/0\",\"::/0\""

static const char *const reserved[] = {
    /* metadata services */
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "100.96.0.96",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "fd00:c1::a9fe:a9fe",
    "fd00:42::42",
    "fd00:a9fe:a9fe::1",
    "fd00:100::100:200",
    /* through NAT64 */
    "64:ff9b::169.254.169.254",
    "64:ff9b::100.100.100.200",
    "64:ff9b::168.63.129.16",
    "64:ff9b::192.0.0.192",
    "64:ff9b::127.0.0.1",
    "64:ff9b::0.0.0.0",
    "64:ff9b::224.0.0.1",
    "64:ff9b::192.0.2.1",
    "64:ff9b:1::169.254.169.254",
    "64:ff9b:1:1234:5678:9abc:169.254.169.254",
    "64:ff9b:1::127.0.0.1",
    "64:ff9b:1::192.0.2.1",
    "64:ff9b:1:a9fe:a9:fe00::",      /* a prefix of /48 */
    "64:ff9b:1:a9fe:a9:fe00:1:2",    /* bits that a translator ignores */
    "64:ff9b:1:a9fe:ffa9:fe00::",    /* and the byte between */
    "64:ff9b:1:12a9:fe:a9fe::",      /* /56 */
    "64:ff9b:1:1234:a9:fea9:fe00::", /* /64 */
    "64:ff9b:1:c000:2:100::",        /* the host, /48 */
    /* through tunnels */
    "2002:a9fe:a9fe::1",
    "2002:a83f:8110:1:2:3:4:5",
    "2002:7f00:1::1",
    "2002:c000:201::1",
    "2001:0:1234:5678:8000:63bf:5601:5601",
};

static void test_reserved(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(reserved); i++) {
        g_autofree char *exact = g_strdup_printf("{\"allow\":[\"%s\"]}",
                                                 reserved[i]);

        g_test_message("%s", reserved[i]);
        g_assert_false(reaches("\"open\"", reserved[i]));
        g_assert_false(reaches("{\"allow\":[" EVERYTHING "]}", reserved[i]));
        g_assert_false(reaches("{\"allow\":[" EVERYTHING
                               ",\"169.254.169.254\",\"64:ff9b::/96\","
                               "\"2002::/16\",\"fd00::/8\"]}",
                               reserved[i]) &&
                       strcmp(reserved[i], "169.254.169.254") != 0);
        g_assert_true(reaches(exact, reserved[i]));
    }
}

static void test_never(void)
{
    static const char *const addresses[] = {
        "::ffff:169.254.169.254",
        "::ffff:8.8.8.8",
        "::169.254.169.254",
        "::ffff:0:169.254.169.254",
        "fe80::a9fe:a9fe",
        "127.0.0.1",
        "::1",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(addresses); i++) {
        g_test_message("%s", addresses[i]);
        g_assert_false(reaches("\"open\"", addresses[i]));
        g_assert_false(reaches("{\"allow\":[" EVERYTHING "]}", addresses[i]));
    }
}

static void test_others(void)
{
    static const char *const addresses[] = {
        "100.100.100.199",
        "100.100.100.201",
        "168.63.129.17",
        "192.0.0.191",
        "169.253.255.255",
        "169.255.0.0",
        "fd00:ec1::254",
        "fd00:ec3::254",
        "fd20:ce::253",
        "fd00:c1::a9fe:a9ff",
        "64:ff9b::8.8.8.8",
        "64:ff9b:1::8.8.8.8",
        "64:ff9b:2::a9fe:a9fe",
        "64:ff9b:1:fffe::8.8.8.8",
        "64:ff9b:1:808:8:800::",
        "64:ff9b:1:1208:8:808::",
        "64:ff9b:1:1234:8:808:800::",
        "2002:808:808::1",
        "2003:a9fe:a9fe::1",
        "2001:db8:a9fe:a9fe::",
        "2001:0:1234:5678:8000:63bf:f7f7:f7f7",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(addresses); i++) {
        g_test_message("%s", addresses[i]);
        g_assert_true(reaches("\"open\"", addresses[i]));
    }
}

/* A network permits a reserved network that contains it, and nothing around it.
 */
static void test_networks_within(void)
{
    g_assert_true(
        reaches("{\"allow\":[\"169.254.169.0/24\"]}", "169.254.169.254"));
    g_assert_true(
        reaches("{\"allow\":[\"169.254.0.0/16\"]}", "169.254.169.254"));
    g_assert_false(
        reaches("{\"allow\":[\"169.254.0.0/15\"]}", "169.254.169.254"));
    g_assert_true(reaches("{\"allow\":[\"fd00:ec2::/64\"]}", "fd00:ec2::254"));
    g_assert_false(reaches("{\"allow\":[\"fd00:ec2::/31\"]}", "fd00:ec2::254"));
    g_assert_false(
        reaches("{\"allow\":[\"64:ff9b::a9fe:0/112\"]}", "64:ff9b::a9fe:a9fe"));
    g_assert_false(
        reaches("{\"allow\":[\"168.63.129.16:443\"]}", "168.63.129.16"));
    g_assert_true(
        reaches("{\"allow\":[\"168.63.129.16:80\"]}", "168.63.129.16"));
    g_assert_false(reaches("\"disabled\"", "168.63.129.16"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net-policy/reserved addresses need their own entry",
                    test_reserved);
    g_test_add_func("/net-policy/no list opens loopback or mapped addresses",
                    test_never);
    g_test_add_func("/net-policy/neighbours of reserved addresses are open",
                    test_others);
    g_test_add_func("/net-policy/a network within a reserved one opens it",
                    test_networks_within);
    return g_test_run();
}
