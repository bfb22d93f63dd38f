/* SPDX-License-Identifier: Apache-2.0
 *
 * network_texts - see network_texts.h.
 */
#include "agent/machine/network_texts.h"

#include <glib.h>
#include <string.h>

#include "common/network_link.h"

enum { TEXT_MAX = 512 };

static bool is_name_server(const char *destination, json_int_t port)
{
    return port == 53 && (strcmp(destination, NETWORK_LINK_DNS) == 0 ||
                          strcmp(destination, NETWORK_LINK_OTHER_DNS) == 0);
}

static char *describe_query(const struct network_policy *policy,
                            const char *name, const char *reason)
{
    g_autofree char *rule = network_policy_find_exception(policy, name, 0, NULL,
                                                          NULL);

    if (g_strcmp0(reason, "excepted") == 0)
        return g_strdup_printf("the network policy's entry %s excepts the "
                               "name %s",
                               rule ? rule : "deny:", name);
    if (g_strcmp0(reason, "above_wildcard") == 0)
        return g_strdup_printf("the network policy does not list the name %s; "
                               "*.%s does not include it: add it to the list "
                               "to allow it",
                               name, name);
    return g_strdup_printf("the network policy does not list the name %s; "
                           "add it to the list to allow it",
                           name);
}

/* Return ": ..." with the exception that forbids a connection, or "": a new
 * string. */
static char *describe_rule(const struct network_policy *policy,
                           const char *destination, json_int_t port)
{
    g_autofree char *rule = NULL;

    if (port > 0 && port <= G_MAXUINT16 &&
        !g_hostname_is_ip_address(destination))
        rule = network_policy_find_exception(policy, destination,
                                             (unsigned)port, NULL, NULL);
    return rule ? g_strdup_printf(": its entry %s forbids it", rule)
                : g_strdup("");
}

static char *describe_refusal(const struct network_policy *policy,
                              json_t *payload)
{
    const char *destination = json_string_value(
        json_object_get(payload, "destination"));
    const char *protocol = json_string_value(
        json_object_get(payload, "protocol"));
    json_int_t port = json_integer_value(json_object_get(payload, "port"));
    g_autofree char *rule = NULL;

    if (!destination)
        return g_strdup("the network policy blocks the guest from further "
                        "addresses, which are not reported one by one");
    if (g_strcmp0(protocol, "dns") == 0)
        return describe_query(
            policy, destination,
            json_string_value(json_object_get(payload, "reason")));
    if (is_name_server(destination, port))
        return g_strdup("the network policy blocks the guest's DNS queries; "
                        "add dns to the list to allow them");
    if (port == 0)
        return g_strdup_printf(
            "the network policy blocks the guest from %s (%s)", destination,
            protocol);
    rule = describe_rule(policy, destination, port);
    return g_strdup_printf("the network policy blocks the guest from %s (%s "
                           "port %" JSON_INTEGER_FORMAT ")%s",
                           destination, protocol, port, rule);
}

static char *describe_limit(json_t *payload)
{
    static const char *const texts[][3] = {
        { "tcp", "TCP connections", "further ones wait until others end" },
        { "dns_tcp", "TCP connections to the name server",
          "further ones wait until others end" },
        { "udp", "UDP flows", "the longest idle ones are closed" },
        { "dns", "DNS lookups at a time", "the oldest get no answer" },
        { "icmp", "pings at a time", "the oldest get no answer" },
        { "inbound", "published ports and connections to them",
          "further connections wait until others end" },
    };
    const char *kind = json_string_value(json_object_get(payload, "kind"));
    json_t *limit = json_object_get(payload, "limit");

    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        if (g_strcmp0(kind, texts[i][0]) == 0)
            return g_strdup_printf("guest network: more than "
                                   "%" JSON_INTEGER_FORMAT " %s; %s",
                                   json_integer_value(limit), texts[i][1],
                                   texts[i][2]);
    }
    return g_strdup("guest network: a limit is reached");
}

/* Copy the members of an event, and not what else a process may send. */
static json_t *copy_known(json_t *payload)
{
    static const char *const texts[] = { "destination", "protocol", "reason",
                                         "kind" };
    static const char *const numbers[] = { "port", "count", "limit" };
    json_t *copy = json_object();

    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        json_t *value = json_object_get(payload, texts[i]);

        if (json_string_length(value) <= TEXT_MAX && json_is_string(value))
            json_object_set(copy, texts[i], value);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        json_t *value = json_object_get(payload, numbers[i]);

        if (json_is_integer(value))
            json_object_set(copy, numbers[i], value);
    }
    return copy;
}

json_t *network_describe(const struct network_policy *policy, json_t *payload,
                         bool refused, char **ret_text)
{
    json_t *warning = copy_known(payload);

    *ret_text = refused ? describe_refusal(policy, warning)
                        : describe_limit(warning);
    json_object_set_new(
        warning, "code",
        json_string(refused ? "network_refused" : "network_limited"));
    json_object_set_new(warning, "message", json_string(*ret_text));
    return warning;
}
