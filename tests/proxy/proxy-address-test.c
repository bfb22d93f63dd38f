/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-address-test - which addresses a name may have.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "proxy/address_rules.h"

/* ---- addresses ----------------------------------------------------------- */

/* 192.0.2.1 and 2001:db8::1 are the host. */
static bool is_host(const struct network_address *address, void *opaque)
{
    char text[INET6_ADDRSTRLEN];

    network_address_format(address, text);
    return strcmp(text, "192.0.2.1") == 0 || strcmp(text, "2001:db8::1") == 0;
}

static bool permits(const char *policy, const char *text)
{
    struct network_address address = { .v6 = strchr(text, ':') != NULL };
    g_autofree struct network_policy *parsed = g_new0(struct network_policy, 1);
    json_t *value = json_loads(policy, JSON_DECODE_ANY, NULL);
    GError *error = NULL;

    g_assert_cmpint(
        inet_pton(address.v6 ? AF_INET6 : AF_INET, text, address.bytes), ==, 1);
    network_policy_parse(value, parsed, &error);
    g_assert_no_error(error);
    json_decref(value);
    return address_rules_permit(parsed, &address, 443, is_host, NULL);
}

/* Those that "never" marks cannot be listed. */
static const struct {
    const char *address;
    bool never;
} internal[] = {
    { "127.0.0.1", true },
    { "0.0.0.0", true },
    { "224.0.0.1", true },
    { "255.255.255.255", true },
    { "240.0.0.1", true },
    { "10.0.2.15", true },
    { "::1", true },
    { "::", true },
    { "::ffff:8.8.8.8", true },
    { "::ffff:127.0.0.1", true },
    { "fe80::1", true },
    { "ff02::1", true },
    { "10.1.2.3", false },
    { "172.16.0.1", false },
    { "172.31.255.255", false },
    { "192.168.1.1", false },
    { "100.64.0.1", false },
    { "100.100.100.200", false },
    { "169.254.169.254", false },
    { "192.0.0.1", false },
    { "198.18.0.1", false },
    { "198.19.255.255", false },
    { "10.0.2.2", false },
    { "fd00::1", false },
    { "fc00::1", false },
    { "fd00:ec2::254", false },
    { "192.0.2.1", false },
    { "2001:db8::1", false },
    { "64:ff9b::a01:203", false },
    { "64:ff9b::7f00:1", false },
    { "64:ff9b::c000:201", false },
    { "2002:a01:203::1", false },
    { "2002:7f00:1::1", false },
    { "64:ff9b::a9fe:a9fe", false },
    { "64:ff9b:1::a01:203", false },
    { "2001::f5fe:fdfc", false }, /* Teredo: 10.1.2.3 inverted */
};

static void test_internal_addresses(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(internal); i++) {
        const char *address = internal[i].address;
        g_autofree char *list = g_strdup_printf("{\"allow\":[\"%s\"]}",
                                                address);

        if (permits("\"disabled\"", address) || permits("\"open\"", address) ||
            permits("{\"allow\":[\"198.51.100.7\"]}", address))
            g_error("%s is permitted", address);
        if (!internal[i].never && !permits(list, address))
            g_error("%s is not permitted by its entry", address);
    }
}

static void test_public_addresses(void)
{
    static const char *const addresses[] = {
        "8.8.8.8",          "172.32.0.1",
        "100.128.0.1",      "198.20.0.1",
        "9.9.9.9",          "2606:4700::1111",
        "64:ff9b::808:808", "2002:808:808::1",
        "192.0.2.2",        "64:ff9b:1::808:808",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(addresses); i++) {
        if (!permits("\"disabled\"", addresses[i]))
            g_error("%s is not permitted", addresses[i]);
    }
}

static void test_a_network_lists_internal_addresses(void)
{
    g_assert_true(permits("{\"allow\":[\"10.0.0.0/8\"]}", "10.1.2.3"));
    g_assert_true(permits("{\"allow\":[\"10.0.0.0/8:443\"]}", "10.1.2.3"));
    g_assert_false(permits("{\"allow\":[\"10.0.0.0/8:80\"]}", "10.1.2.3"));
    g_assert_false(permits("{\"allow\":[\"0.0.0.0/0\"]}", "169.254.169.254"));
    g_assert_false(permits("{\"allow\":[\"192.0.2.0/24\"]}", "192.0.2.1"));
    g_assert_false(permits("{\"allow\":[\"::/0\"]}", "64:ff9b::a9fe:a9fe"));
    g_assert_false(permits("{\"allow\":[\"::/0\"]}", "64:ff9b::c000:201"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/addresses/internal ones need an entry",
                    test_internal_addresses);
    g_test_add_func("/addresses/public ones need none", test_public_addresses);
    g_test_add_func("/addresses/a network lists internal ones",
                    test_a_network_lists_internal_addresses);
    return g_test_run();
}
