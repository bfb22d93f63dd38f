/* SPDX-License-Identifier: Apache-2.0
 *
 * network-proxy-test - the supervisor's side of the proxy's control channel,
 * with fake-network-proxy.py on the other one.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/machine/network_proxy.h"

enum { PATIENCE_US = 20 * G_USEC_PER_SEC };

struct world {
    char *folder, *out;
    struct session_config *config;
    struct guest_trust *trust;
    struct network_records *records;
    struct upstream_proxy *upstream;
    struct network_asks *asks;
    struct network_proxy *proxy;
    int other;     /* end of the channel for connections */
    char *warning; /* the last one */
};

static void on_warning(json_t *payload, void *opaque)
{
    struct world *world = opaque;

    g_free(world->warning);
    world->warning = g_strdup(
        json_string_value(json_object_get(payload, "message")));
    json_decref(payload);
}

static void on_kept(const char *type, json_t *record, void *opaque)
{
}

static void on_missed(guint64 count, void *opaque)
{
}

static void set_up(struct world *world, gconstpointer data)
{
    const char *srcdir = g_getenv("srcdir"); /* set by make check */
    g_autofree char *fake =
        srcdir
            ? g_build_filename(srcdir, "tests/agent/fake-network-proxy.py",
                               NULL)
            : g_test_build_filename(G_TEST_DIST, "fake-network-proxy.py", NULL);
    g_autofree char *whole = g_canonicalize_filename(fake, NULL);
    g_autofree char *link = NULL;
    int pair[2];

    world->folder = g_dir_make_tmp("network-proxy-XXXXXX", NULL);
    world->out = g_build_filename(world->folder, "out", NULL);
    link = g_build_filename(world->folder, NETWORK_PROXY_PROGRAM, NULL);
    g_assert_cmpint(symlink(whole, link), ==, 0);
    g_setenv("STEPBACK_LIBEXECDIR", world->folder, TRUE);
    g_setenv("STEPBACK_TEST_OUT", world->out, TRUE);
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair),
                    ==, 0);
    world->other = pair[1];
    world->config = session_config_new();
    world->config->certificates = g_strdup("given\n");
    world->trust = guest_trust_new(world->config);
    world->records = network_records_new(on_kept, on_missed, NULL);
    world->upstream = upstream_proxy_new(data ? data : "none");
    world->asks = network_asks_new(NULL, NULL); /* none asks */
    world->proxy = network_proxy_new(pair[0], world->trust, world->upstream,
                                     "info", world->records, world->asks,
                                     on_warning, world);
}

static void tear_down(struct world *world, gconstpointer data)
{
    g_autofree char *link = g_build_filename(world->folder,
                                             NETWORK_PROXY_PROGRAM, NULL);
    g_autofree char *marker = g_strconcat(world->out, ".refused", NULL);

    network_proxy_free(world->proxy);
    network_records_free(world->records);
    upstream_proxy_free(world->upstream);
    network_asks_free(world->asks);
    guest_trust_free(world->trust);
    session_config_free(world->config);
    close(world->other);
    g_unlink(link);
    g_unlink(world->out);
    g_unlink(marker);
    g_assert_cmpint(g_rmdir(world->folder), ==, 0);
    g_free(world->folder);
    g_free(world->out);
    g_free(world->warning);
}

static void configure(struct world *world, const char *const *entries)
{
    g_autofree struct network_policy *policy = g_new0(struct network_policy, 1);
    GError *error = NULL;

    policy->kind = NETWORK_ALLOW;
    for (; *entries; entries++)
        g_assert_true(network_policy_add(policy, *entries, NULL));
    network_proxy_configure(world->proxy, policy, &error);
    g_assert_no_error(error);
}

/* Wait until the process has got this many messages of a type. Return their
 * payloads: a new reference. */
static json_t *wait_for(struct world *world, const char *type, size_t count)
{
    gint64 end = g_get_monotonic_time() + PATIENCE_US;

    while (g_get_monotonic_time() < end) {
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;
        json_t *list = json_array();

        while (g_main_context_iteration(NULL, FALSE))
            ;
        if (g_file_get_contents(world->out, &text, NULL, NULL))
            lines = g_strsplit(text, "\n", -1);
        for (unsigned i = 0; lines && lines[i]; i++) {
            json_t *message = json_loads(lines[i], 0, NULL);

            if (g_strcmp0(type, json_string_value(
                                    json_object_get(message, "type"))) == 0)
                json_array_append(list, json_object_get(message, "payload"));
            json_decref(message);
        }
        if (json_array_size(list) >= count)
            return list;
        json_decref(list);
        g_usleep(2000);
    }
    g_assert_not_reached();
}

static const char *text(json_t *list, size_t index, const char *key)
{
    return json_string_value(json_object_get(json_array_get(list, index), key));
}

static const char *const intercepting[] = { "GET:api.example.org/v1",
                                            "intercept:*.example.org",
                                            "plain.org",
                                            "deny:other.example.org", NULL };

static void test_certificates(struct world *world, gconstpointer data)
{
    json_t *answers;

    configure(world, intercepting);
    answers = wait_for(world, "certificate", 3);
    g_assert_cmpstr(text(answers, 0, "name"), ==, "API.example.org");
    g_assert_true(g_str_has_prefix(text(answers, 0, "chain"),
                                   "-----BEGIN CERTIFICATE-----\n"));
    g_assert_true(g_str_has_suffix(text(answers, 0, "chain"),
                                   guest_trust_authority(world->trust, NULL)));
    g_assert_true(g_str_has_prefix(text(answers, 0, "key"),
                                   "-----BEGIN PRIVATE KEY-----\n"));
    g_assert_null(text(answers, 0, "error"));
    for (size_t i = 1; i < 3; i++) {
        g_assert_null(text(answers, i, "key"));
        g_assert_nonnull(strstr(text(answers, i, "error"), "intercept"));
    }
    json_decref(answers);
}

static void test_no_interception(struct world *world, gconstpointer data)
{
    static const char *const plain[] = { "api.example.org", "*.example.org",
                                         NULL };
    json_t *answers;

    configure(world, plain);
    answers = wait_for(world, "certificate", 3);
    for (size_t i = 0; i < 3; i++)
        g_assert_null(text(answers, i, "key"));
    json_decref(answers);
}

static void test_trust(struct world *world, gconstpointer data)
{
    g_autofree char *bundle = guest_trust_host_bundle();
    g_autofree char *whole = g_strconcat(bundle, "\ngiven\n", NULL);
    json_t *list;

    configure(world, intercepting);
    list = wait_for(world, "trust", 1);
    g_assert_cmpstr(text(list, 0, "text"), ==, whole);
    g_assert_cmpint(
        json_integer_value(json_object_get(json_array_get(list, 0), "sealed")),
        ==, 15);
    json_decref(list);
}

static void test_secrets(struct world *world, gconstpointer data)
{
    static const char *const plain[] = { "a.example.org", NULL };
    g_autofree char *before = g_strdup("command:echo s3cret-value");
    char *hosts[] = { (char *)"a.example.org", NULL };
    json_t *list, *secret;

    g_assert_true(secret_list_add(world->config->secrets, "TOKEN", before,
                                  hosts, NULL, NULL));
    g_assert_true(secret_list_read(world->config->secrets, NULL));
    configure(world, plain);
    list = wait_for(world, "configure", 1);
    secret = json_array_get(json_object_get(json_array_get(list, 0), "secrets"),
                            0);
    g_assert_cmpstr(json_string_value(json_object_get(secret, "value")), ==,
                    "s3cret-value");
    g_assert_true(g_str_has_prefix(
        json_string_value(json_object_get(secret, "placeholder")),
        "stepback-"));
    g_assert_cmpuint(
        json_array_size(json_object_get(
            json_object_get(json_array_get(list, 0), "network_policy"),
            "allow")),
        ==, 2);
    json_decref(list);
}

static void on_listed(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    *(json_t **)opaque = json_incref(payload);
}

static void test_requests(struct world *world, gconstpointer data)
{
    json_t *answers, *listing = NULL, *requests;

    configure(world, intercepting);
    answers = wait_for(world, "certificate", 3);
    network_proxy_get_connections(world->proxy, NULL, on_listed, &listing);
    while (!listing)
        g_main_context_iteration(NULL, TRUE);
    requests = json_object_get(listing, "requests");
    g_assert_cmpuint(json_array_size(requests), ==, 2);
    g_assert_cmpstr(text(requests, 0, "method"), ==, "PUT");
    g_assert_cmpstr(text(requests, 0, "allow"), ==, "PUT:api.example.org/v2");
    g_assert_cmpstr(text(requests, 1, "verdict"), ==, "allowed");
    g_assert_cmpstr(text(requests, 1, "allow"), ==, NULL);
    g_assert_cmpint(
        json_integer_value(json_object_get(listing, "requests_missed")), ==, 3);
    json_decref(listing);
    json_decref(answers);
}

/* plain.org need not exist. */
static void test_upstream(struct world *world, gconstpointer data)
{
    static const char *const plain[] = { "plain.org", NULL };
    json_t *list, *answer;

    configure(world, plain);
    list = wait_for(world, "configure", 1);
    g_assert_cmpint(
        json_integer_value(json_object_get(
            json_array_get(
                json_object_get(json_array_get(list, 0), "upstreams"), 1),
            "port")),
        ==, 3128);
    json_decref(list);
    list = wait_for(world, "resolved", 2);
    for (size_t i = 0; i < 2; i++) {
        answer = json_array_get(list, i);
        g_assert_cmpint(json_integer_value(json_object_get(answer, "upstream")),
                        ==, json_integer_value(json_object_get(answer, "id")));
        g_assert_cmpstr(json_string_value(json_array_get(
                            json_object_get(answer, "addresses"), 0)),
                        ==, "127.0.0.7");
    }
    json_decref(list);
}

static void test_bad_upstream(struct world *world, gconstpointer data)
{
    g_autofree struct network_policy *policy = g_new0(struct network_policy, 1);
    g_autoptr(GError) error = NULL;

    policy->kind = NETWORK_ALLOW;
    g_assert_true(network_proxy_configure(world->proxy, policy, &error));
    g_assert_true(network_policy_add(policy, "plain.org", NULL));
    g_assert_false(network_proxy_configure(world->proxy, policy, &error));
    g_assert_nonnull(strstr(error->message, "SOCKS"));
}

#define ADD(path, test)                                                        \
    g_test_add("/network-proxy/" path, struct world, NULL, set_up, test,       \
               tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("intercepted-names-have-certificates", test_certificates);
    ADD("other-policies-have-none", test_no_interception);
    ADD("proxy-gets-the-authorities-of-servers", test_trust);
    ADD("requests-are-recorded", test_requests);
    ADD("proxy-gets-the-secrets", test_secrets);
    g_test_add("/network-proxy/policy-with-names-needs-a-usable-upstream",
               struct world, "socks5://127.0.0.7:1080", set_up,
               test_bad_upstream, tear_down);
    g_test_add("/network-proxy/upstream-is-resolved-in-place-of-the-name",
               struct world, "http://127.0.0.7:3128", set_up, test_upstream,
               tear_down);
    return g_test_run();
}
