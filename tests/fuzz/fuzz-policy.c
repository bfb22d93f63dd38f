/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-policy - the entries of a network policy (common/network_policy.h), and
 * the names and requests that it judges.
 *
 * An input is lines. Those up to an empty one are entries of a list; if the
 * first of them begins with '{' or '"', it is a policy as JSON. Each further
 * line is a request: method, name, port and path, separated by spaces. A policy
 * must be the same after another pass, an entry that is said to allow a request
 * must do so, and an exception must win.
 */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "common/network_policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REQUESTS_MAX = 64, WORDS = 4 };

/* ---- the policy ---------------------------------------------------------- */

static void check_same_again(const struct network_policy *policy)
{
    g_autofree struct network_policy *again = g_new0(struct network_policy, 1);
    json_t *json = network_policy_to_json(policy);
    GError *error = NULL;

    network_policy_parse(json, again, &error);
    g_assert_no_error(error);
    g_assert_true(network_policy_equal(policy, again));
    json_decref(json);
}

static void read_json(struct network_policy *policy, const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    g_autoptr(GError) error = NULL;
    gboolean taken = json && network_policy_parse(json, policy, &error);

    g_assert_true(!json || taken == !error);
    if (!taken)
        *policy = (struct network_policy){ .kind = NETWORK_ALLOW };
    json_decref(json);
}

/* A refused entry leaves the policy as it was. */
static void add(struct network_policy *policy, const char *entry)
{
    g_autofree struct network_policy *before = g_memdup2(policy,
                                                         sizeof(*policy));
    g_autoptr(GError) error = NULL;

    if (network_policy_add(policy, entry, &error))
        return;
    g_assert_nonnull(error);
    g_assert_true(network_policy_equal(policy, before));
}

static char **read_policy(struct network_policy *policy, char **lines)
{
    policy->kind = NETWORK_ALLOW;
    if (*lines && (**lines == '{' || **lines == '"')) {
        read_json(policy, *lines);
        lines++;
    }
    for (; *lines && **lines; lines++) {
        if (policy->kind == NETWORK_ALLOW)
            add(policy, *lines);
    }
    return *lines ? lines + 1 : lines;
}

/* A decision replaces ask, and nothing else. A connection that is held has a
 * name that is resolved. */
static void check_ask(const struct network_policy *policy, const char *name,
                      unsigned port)
{
    enum network_name_verdict verdict = network_policy_judge_name(policy, name,
                                                                  port);
    enum network_name_verdict allowed = network_policy_judge_allowed(
        policy, name, port);

    g_assert_true(verdict == NAME_ASK ? allowed > NAME_ASK
                                      : allowed == verdict);
    g_assert_true(verdict != NAME_ASK ||
                  network_policy_lists_name(policy, name));
}

/* ---- requests ------------------------------------------------------------ */

struct request {
    const char *method, *name, *path;
    unsigned port;
};

static bool judge(const struct network_policy *policy,
                  const struct request *request, char **ret_allow)
{
    return network_policy_judge_request(policy, request->name, request->port,
                                        request->method, request->path,
                                        ret_allow);
}

/* The hint may not fit beside what the policy has: raw: of the same name. */
static void check_hint(const struct network_policy *policy,
                       const struct request *request, const char *allow)
{
    g_autofree struct network_policy *more = g_memdup2(policy, sizeof(*policy));
    g_autofree char *none = NULL;

    if (network_policy_add(more, allow, NULL))
        g_assert_true(judge(more, request, &none));
}

static void check_exception(const struct network_policy *policy,
                            const struct request *request)
{
    g_autofree struct network_policy *less = g_memdup2(policy, sizeof(*policy));
    g_autofree char *entry = g_strdup_printf("deny:%s:%u", request->name,
                                             request->port);
    g_autofree char *none = NULL;

    if (less->kind != NETWORK_ALLOW || !network_policy_add(less, entry, NULL))
        return;
    /* It is a name as the request's: no address, no wildcard. */
    if (!network_policy_excepts_name(less, request->name))
        return;
    g_assert_cmpint(
        network_policy_judge_name(less, request->name, request->port), ==,
        NAME_DENIED);
    g_assert_false(judge(less, request, &none));
    g_assert_null(none);
}

static void check_request(const struct network_policy *policy,
                          const struct request *request)
{
    enum network_name_verdict verdict = network_policy_judge_name(
        policy, request->name, request->port);
    g_autofree char *upper = g_ascii_strup(request->name, -1);
    g_autofree char *allow = NULL, *other = NULL;
    bool allowed = judge(policy, request, &allow);
    const struct request plain = { "GET", upper, "/", request->port };

    g_assert_cmpint(network_policy_judge_name(policy, upper, request->port), ==,
                    verdict);
    g_assert_true(!allowed || !allow);
    g_assert_true(!allowed || verdict != NAME_DENIED);
    if (allow)
        check_hint(policy, request, allow);
    if (!network_policy_divides_requests(policy, request->name, request->port))
        g_assert_true(judge(policy, &plain, &other) == allowed);
    else
        g_assert_cmpint(verdict, !=, NAME_RAW);
    if (verdict == NAME_INTERCEPT)
        g_assert_true(network_policy_intercepts(policy));
    check_ask(policy, request->name, request->port);
    check_exception(policy, request);
}

static void check_line(const struct network_policy *policy, const char *line)
{
    g_auto(GStrv) words = g_strsplit(line, " ", WORDS);
    struct request request;

    if (g_strv_length(words) < WORDS)
        return;
    request = (struct request){ words[0], words[1], words[3],
                                (unsigned)(atoi(words[2]) & 0xffff) };
    if (request.port > 0)
        check_request(policy, &request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree struct network_policy *policy = g_new0(struct network_policy, 1);
    g_autofree char *text = g_strndup((const char *)data, size);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    char **requests = read_policy(policy, lines);

    check_same_again(policy);
    for (unsigned i = 0; requests[i] && i < REQUESTS_MAX; i++)
        check_line(policy, requests[i]);
    return 0;
}
