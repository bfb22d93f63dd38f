/* SPDX-License-Identifier: Apache-2.0
 *
 * network-test - a policy that stepback-net does not take ends it; with
 * fake-network.py in its place. Also requests with a time limit.
 */
#include <glib.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/client/control_timed.h"
#include "agent/machine/network.h"
#include "common/errors.h"

enum { PATIENCE_US = 20 * G_USEC_PER_SEC };

struct answer {
    bool came;
    GError *error;
};

static void on_answer(json_t *payload, const GError *error, json_t *data,
                      void *opaque)
{
    struct answer *answer = opaque;

    g_assert_false(answer->came);
    answer->came = true;
    answer->error = error ? g_error_copy(error) : NULL;
}

static void wait_for_answer(struct answer *answer)
{
    gint64 end = g_get_monotonic_time() + PATIENCE_US;

    while (!answer->came) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_main_context_iteration(NULL, TRUE);
    }
}

static void on_warning(json_t *payload, void *opaque)
{
    json_decref(payload);
}

static void on_ended(const GError *error, void *opaque)
{
}

static const struct network_callbacks callbacks = {
    .warning = on_warning,
    .ended = on_ended,
};

static struct network *start(struct guest_trust *trust,
                             const struct upstream_proxy *direct, int *ret_fd)
{
    const char *srcdir = g_getenv("srcdir"); /* set by make check */
    g_autofree char *fake =
        srcdir ? g_build_filename(srcdir, "tests/agent/fake-network.py", NULL)
               : g_test_build_filename(G_TEST_DIST, "fake-network.py", NULL);
    g_autofree char *whole = g_canonicalize_filename(fake, NULL);
    g_autofree struct network_policy *open = g_new0(struct network_policy, 1);
    GError *error = NULL;
    struct network *network = network_new(whole, open, trust, direct, "info",
                                          -1, &callbacks, NULL, ret_fd, &error);

    g_assert_no_error(error);
    return network;
}

static void configure(struct network *network, const char *entry,
                      struct answer *answer)
{
    g_autofree struct network_policy *policy = g_new0(struct network_policy, 1);

    policy->kind = NETWORK_ALLOW;
    g_assert_true(network_policy_add(policy, entry, NULL));
    network_configure(network, policy, on_answer, answer);
}

static void test_refused_policy(void)
{
    struct session_config *config = session_config_new();
    struct guest_trust *trust = guest_trust_new(config);
    struct upstream_proxy *direct = upstream_proxy_new("none");
    struct answer taken = { 0 }, refused = { 0 };
    int fd = -1;
    struct network *network = start(trust, direct, &fd);
    gint64 end = g_get_monotonic_time() + PATIENCE_US;

    configure(network, "10.0.0.0/8", &taken);
    wait_for_answer(&taken);
    g_assert_no_error(taken.error);
    g_assert_true(network_runs(network));
    configure(network, "192.0.2.1", &refused);
    wait_for_answer(&refused);
    g_assert_error(refused.error, STEPBACK_ERROR, ERROR_BACKEND_FAILED);
    while (network_runs(network) && g_get_monotonic_time() < end)
        g_main_context_iteration(NULL, TRUE);
    g_assert_false(network_runs(network));
    g_error_free(refused.error);
    network_free(network);
    close(fd);
    upstream_proxy_free(direct);
    guest_trust_free(trust);
    session_config_free(config);
}

/* A policy that waits for its answer fails, and ends nothing a second time. */
static void test_free(void)
{
    struct session_config *config = session_config_new();
    struct guest_trust *trust = guest_trust_new(config);
    struct upstream_proxy *direct = upstream_proxy_new("none");
    struct answer answer = { 0 };
    int fd = -1;
    struct network *network = start(trust, direct, &fd);

    configure(network, "192.0.2.2", &answer);
    g_assert_false(answer.came);
    network_free(network);
    g_assert_true(answer.came);
    g_assert_nonnull(answer.error);
    g_error_free(answer.error);
    close(fd);
    upstream_proxy_free(direct);
    guest_trust_free(trust);
    session_config_free(config);
}

static void on_link_closed(struct control_link *link, void *opaque)
{
}

static const struct control_link_callbacks link_callbacks = {
    .closed = on_link_closed,
};

static void test_late_answer(void)
{
    struct answer late = { 0 }, freed = { 0 };
    struct control_link *link;
    int pair[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair),
                    ==, 0);
    link = control_link_new(pair[0], &link_callbacks, NULL);
    control_timed_request(link, "configure", NULL, 1, on_answer, &late);
    wait_for_answer(&late);
    g_assert_error(late.error, STEPBACK_ERROR, ERROR_BACKEND_FAILED);
    control_timed_request(link, "configure", NULL, 60000, on_answer, &freed);
    control_link_free(link);
    g_assert_true(freed.came);
    g_error_free(late.error);
    g_error_free(freed.error);
    close(pair[1]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/network/a-refused-policy-ends-the-process",
                    test_refused_policy);
    g_test_add_func("/network/a-policy-that-waits-fails-at-the-end", test_free);
    g_test_add_func("/network/a-late-answer-is-an-error", test_late_answer);
    return g_test_run();
}
