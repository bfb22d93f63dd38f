/* SPDX-License-Identifier: Apache-2.0
 *
 * net-entry-test - internationalized names in a network policy.
 */
#include <glib.h>
#include <string.h>

#include "agent/base/network_entry.h"

static void test_conversion(void)
{
    static const char *const entries[][2] = {
        { "b\xc3\xbc"
          "cher.example",
          "xn--bcher-kva.example" },
        { "raw:B\xc3\x9c"
          "CHER.example.:22",
          "raw:xn--bcher-kva.example:22" },
        { "deny:*.fa\xc3\x9f.de:25", "deny:*.xn--fa-hia.de:25" },
        { "*.\xe4\xbe\x8b\xe3\x81\x88.jp", "*.xn--r8jz45g.jp" },
        { "A_B.example", "a_b.example" },
        { "10.0.0.0/8", "10.0.0.0/8" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(entries); i++) {
        g_autofree struct network_policy *policy = g_new0(struct network_policy,
                                                          1);
        json_t *value;
        GError *error = NULL;

        policy->kind = NETWORK_ALLOW;
        network_entry_add(policy, entries[i][0], &error);
        g_assert_no_error(error);
        value = network_policy_to_json(policy);
        g_assert_cmpstr(json_string_value(
                            json_array_get(json_object_get(value, "allow"), 0)),
                        ==, entries[i][1]);
        json_decref(value);
    }
}

static void test_errors(void)
{
    static const char *const entries[][2] = {
        { "raw:\xff.example:22", "column 5: the name is not valid" },
        { "*.a\xe2\x80\x8e"
          "b.example",
          "column 3: the name is not valid" },
        { "b\xc3\xbc"
          "cher.example:x",
          "'b\xc3\xbc"
          "cher.example:x' in A-labels: the network policy's entry "
          "'xn--bcher-kva.example:x', column 23: the port" },
        { "b\xc3\xbc"
          "cher",
          "'xn--bcher-kva', column 1: a name needs" },
    };
    g_autofree struct network_policy *policy = g_new0(struct network_policy, 1);

    for (size_t i = 0; i < G_N_ELEMENTS(entries); i++) {
        g_autoptr(GError) error = NULL;

        g_assert_false(network_entry_add(policy, entries[i][0], &error));
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, entries[i][1]));
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/entry/names-are-converted", test_conversion);
    g_test_add_func("/entry/errors-show-both-forms", test_errors);
    return g_test_run();
}
