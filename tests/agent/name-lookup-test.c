/* SPDX-License-Identifier: Apache-2.0
 *
 * name-lookup-test - addresses of names, which need no name server.
 */
#include <glib.h>

#include "agent/machine/name_lookup.h"

struct found {
    char **addresses;
    GMainLoop *loop;
};

static void on_found(char *const *addresses, const char *canonical,
                     const char *problem, void *opaque)
{
    struct found *found = opaque;

    found->addresses = g_strdupv((char **)addresses);
    g_main_loop_quit(found->loop);
}

static void check(const char *name, const char *address)
{
    struct found found = { .loop = g_main_loop_new(NULL, FALSE) };
    struct name_lookup *lookup = name_lookup_new();

    name_lookup_start(lookup, name, false, on_found, &found);
    g_main_loop_run(found.loop);
    g_assert_nonnull(found.addresses);
    g_assert_cmpstr(found.addresses[0], ==, address);
    g_strfreev(found.addresses);
    name_lookup_free(lookup);
    g_main_loop_unref(found.loop);
}

static void test_addresses(void)
{
    check("192.0.2.7", "192.0.2.7");
    check("2001:db8::7", "2001:db8::7");
}

/* An answer with a scope would be malformed for the proxy, as a whole. */
static void test_a_scope_is_omitted(void)
{
    check("fe80::1%lo", "fe80::1");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/name-lookup/addresses are returned as text",
                    test_addresses);
    g_test_add_func("/name-lookup/a scope is omitted", test_a_scope_is_omitted);
    return g_test_run();
}
