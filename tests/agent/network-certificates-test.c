/* SPDX-License-Identifier: Apache-2.0
 *
 * network-certificates-test - the rate of certificates for a guest's names.
 */
#include <glib.h>
#include <string.h>

#include "agent/machine/network_certificates.h"

struct world {
    struct session_config *config;
    struct guest_trust *trust;
    struct network_policy policy;
    struct network_certificates *certificates;
    unsigned issued, refused;
    char *last; /* reason */
};

static void on_answer(json_t *payload, void *opaque)
{
    struct world *world = opaque;
    json_t *error = json_object_get(payload, "error");

    g_free(world->last);
    world->last = g_strdup(json_string_value(error));
    if (json_is_null(error))
        world->issued++;
    else
        world->refused++;
    g_assert_true(json_is_null(error) ==
                  json_is_string(json_object_get(payload, "key")));
    json_decref(payload);
}

static void set_up(struct world *world, gconstpointer data)
{
    world->config = session_config_new();
    world->trust = guest_trust_new(world->config);
    world->policy.kind = NETWORK_ALLOW;
    g_assert_true(
        network_policy_add(&world->policy, "intercept:*.example.org", NULL));
    world->certificates = network_certificates_new(world->trust, on_answer,
                                                   world);
}

static void tear_down(struct world *world, gconstpointer data)
{
    network_certificates_free(world->certificates);
    guest_trust_free(world->trust);
    session_config_free(world->config);
    g_free(world->last);
}

static void request(struct world *world, unsigned number, const char *domain)
{
    g_autofree char *name = g_strdup_printf("a%u.%s", number, domain);
    json_t *payload = json_pack("{s:s}", "name", name);

    network_certificates_request(world->certificates, &world->policy, payload);
    json_decref(payload);
}

static void wait_for(struct world *world, unsigned issued)
{
    while (world->issued < issued)
        g_main_context_iteration(NULL, TRUE);
}

static void test_rate(struct world *world, gconstpointer data)
{
    gint64 begin = g_get_monotonic_time();

    for (unsigned i = 0; i < 2 * CERTIFICATES_BURST; i++) {
        request(world, i, "example.org");
        request(world, i, "example.com"); /* costs nothing */
    }
    g_assert_cmpuint(world->issued, ==, CERTIFICATES_BURST);
    g_assert_cmpuint(world->refused, ==, 2 * CERTIFICATES_BURST);
    /* One that waits is issued once. */
    request(world, CERTIFICATES_BURST, "example.org");
    wait_for(world, CERTIFICATES_BURST + 4);
    g_assert_cmpint(g_get_monotonic_time() - begin, >=,
                    4 * G_USEC_PER_SEC / CERTIFICATES_BURST);
    network_certificates_clear(world->certificates);
    g_assert_cmpuint(world->issued, ==, CERTIFICATES_BURST + 4);
    g_assert_cmpuint(world->refused, ==, 2 * CERTIFICATES_BURST);
}

static void test_bound(struct world *world, gconstpointer data)
{
    unsigned all = CERTIFICATES_BURST + CERTIFICATES_WAIT_MAX;

    for (unsigned i = 0; i < all; i++)
        request(world, i, "example.org");
    g_assert_cmpuint(world->refused, ==, 0);
    request(world, all, "example.org");
    g_assert_cmpuint(world->refused, ==, 1);
    g_assert_nonnull(strstr(world->last, "too many"));
    wait_for(world, CERTIFICATES_BURST + 1);
    request(world, all, "example.org");
    g_assert_cmpuint(world->refused, ==, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/certificates/their rate is limited", struct world, NULL,
               set_up, test_rate, tear_down);
    g_test_add("/certificates/a bounded number waits", struct world, NULL,
               set_up, test_bound, tear_down);
    return g_test_run();
}
