/* SPDX-License-Identifier: Apache-2.0
 *
 * network_hint - see network_hint.h.
 */
#include "agent/machine/network_hint.h"

#include <string.h>

#include "common/network_link.h"
#include "common/network_name.h"
#include "common/network_reserved.h"

static bool is_reserved(const struct network_prefix *prefix)
{
    struct network_address embedded[NETWORK_EMBEDDED_MAX];
    unsigned count = network_reserved_embedded(&prefix->address, embedded);

    if (network_reserved_find(&prefix->address, prefix->length))
        return true;
    for (unsigned i = 0; i < count; i++) {
        if (network_reserved_find(&embedded[i], 32))
            return true;
    }
    return false;
}

/* Return whether the name is allowed once the entry is on the list: an
 * exception wins. */
static bool helps(const struct network_policy *policy, const char *entry)
{
    g_autofree struct network_policy *after = g_new(struct network_policy, 1);
    struct network_name name;

    *after = *policy;
    after->kind = NETWORK_ALLOW;
    return network_name_parse(entry, &name, NULL) && !name.deny &&
           !name.below && !name.secret &&
           network_policy_add(after, entry, NULL) &&
           network_policy_judge_name(
               after, name.text, name.port ? name.port : 443) != NAME_DENIED;
}

static bool is_for(const char *entry, const char *name)
{
    char normal[NETWORK_NAME_MAX + 1];
    struct network_name parsed;

    return name && network_name_parse(entry, &parsed, NULL) &&
           network_name_normalize(name, normal) &&
           strcmp(parsed.text, normal) == 0;
}

char *network_hint_check(const struct network_policy *policy, const char *name,
                         const char *entry)
{
    g_autofree struct network_policy *only = NULL;

    if (!entry || strpbrk(entry, ", \t"))
        return NULL;
    if (network_name_is_meant(entry))
        return is_for(entry, name) && helps(policy, entry) ? g_strdup(entry)
                                                           : NULL;
    only = g_new0(struct network_policy, 1);
    only->kind = NETWORK_ALLOW;
    if (!network_policy_add(only, entry, NULL) || only->count != 1 ||
        only->allow[0].length !=
            network_address_bits(&only->allow[0].address) ||
        is_reserved(&only->allow[0]))
        return NULL;
    return g_strdup(entry);
}

static bool is_name_server(const char *destination, json_int_t port)
{
    return port == 53 && (strcmp(destination, NETWORK_LINK_DNS) == 0 ||
                          strcmp(destination, NETWORK_LINK_OTHER_DNS) == 0);
}

char *network_hint_find(const struct network_policy *policy, json_t *payload)
{
    const char *destination = json_string_value(
        json_object_get(payload, "destination"));
    const char *protocol = json_string_value(
        json_object_get(payload, "protocol"));
    json_int_t port = json_integer_value(json_object_get(payload, "port"));
    bool is_query = g_strcmp0(protocol, "dns") == 0, is_name;
    g_autofree char *entry = NULL;

    if (!destination)
        return NULL;
    if (!is_query && is_name_server(destination, port))
        return g_strdup("dns");
    is_name = !g_hostname_is_ip_address(destination);
    if (is_query && !is_name)
        return NULL;
    if (is_query || port == 0 || (is_name && (port == 80 || port == 443)))
        entry = g_strdup(destination);
    else
        entry = g_strdup_printf(strchr(destination, ':')
                                    ? "[%s]:%" JSON_INTEGER_FORMAT
                                    : "%s:%" JSON_INTEGER_FORMAT,
                                destination, port);
    return network_hint_check(policy, destination, entry);
}
