/* SPDX-License-Identifier: Apache-2.0
 *
 * network_policy - see network_policy.h.
 */
#include "common/network_policy.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/errors.h"
#include "common/network_reserved.h"

static char *format_prefix(const struct network_prefix *prefix)
{
    bool whole = prefix->length == network_address_bits(&prefix->address);
    char address[INET6_ADDRSTRLEN], length[8] = "";
    bool bracket = prefix->port > 0 && prefix->address.v6;

    network_address_format(&prefix->address, address);
    if (!whole)
        g_snprintf(length, sizeof(length), "/%u", prefix->length);
    if (prefix->port == 0)
        return g_strconcat(address, length, NULL);
    return g_strdup_printf("%s%s%s%s:%u", bracket ? "[" : "", address, length,
                           bracket ? "]" : "", prefix->port);
}

/* ---- matching ------------------------------------------------------------ */

static bool has_port(const struct network_prefix *prefix, unsigned port)
{
    return prefix->port == 0 || port == prefix->port ||
           port == NETWORK_PORT_UNKNOWN;
}

static bool lists(const struct network_policy *policy,
                  const struct network_address *address, unsigned port,
                  unsigned min_length)
{
    for (unsigned i = 0; i < policy->count; i++) {
        if (policy->allow[i].length >= min_length &&
            network_prefix_covers(&policy->allow[i], address) &&
            has_port(&policy->allow[i], port))
            return true;
    }
    return false;
}

bool network_policy_names(const struct network_policy *policy,
                          const struct network_address *address, unsigned port)
{
    return lists(policy, address, port, network_address_bits(address));
}

static bool embeds_reserved(const struct network_address *address)
{
    struct network_address embedded[NETWORK_EMBEDDED_MAX];
    unsigned count = network_reserved_embedded(address, embedded);

    for (unsigned i = 0; i < count; i++) {
        if (network_reserved_find(&embedded[i], 32))
            return true;
    }
    return false;
}

bool network_policy_equal(const struct network_policy *a,
                          const struct network_policy *b)
{
    json_t *of_a = network_policy_to_json(a), *of_b = network_policy_to_json(b);
    bool same = json_equal(of_a, of_b);

    json_decref(of_a);
    json_decref(of_b);
    return same;
}

bool network_policy_is_wide(const struct network_policy *policy)
{
    enum { WIDE_V4 = 8, WIDE_V6 = 16 };

    for (unsigned i = 0; i < policy->count; i++) {
        const struct network_prefix *prefix = &policy->allow[i];

        if (policy->kind == NETWORK_ALLOW &&
            prefix->length < (prefix->address.v6 ? WIDE_V6 : WIDE_V4))
            return true;
    }
    return policy->kind == NETWORK_OPEN;
}

bool network_policy_allows(const struct network_policy *policy,
                           const struct network_address *address, unsigned port)
{
    const struct network_reserved *reserved = network_reserved_find(
        address, network_address_bits(address));

    if (policy->kind == NETWORK_DISABLED)
        return false;
    if (reserved)
        return !reserved->never &&
               lists(policy, address, port, reserved->prefix.length);
    if (embeds_reserved(address))
        return network_policy_names(policy, address, port);
    return policy->kind == NETWORK_OPEN || lists(policy, address, port, 0);
}

/* ---- names --------------------------------------------------------------- */

enum network_name_verdict
network_policy_judge_name(const struct network_policy *policy, const char *name,
                          unsigned port)
{
    char normal[NETWORK_NAME_MAX + 1];

    if (policy->kind == NETWORK_OPEN)
        return NAME_RAW;
    return network_name_normalize(name, normal)
               ? network_names_judge(&policy->names, normal, port)
               : NAME_DENIED;
}

enum network_name_verdict
network_policy_judge_allowed(const struct network_policy *policy,
                             const char *name, unsigned port)
{
    char normal[NETWORK_NAME_MAX + 1];

    if (policy->kind == NETWORK_OPEN)
        return NAME_RAW;
    return network_name_normalize(name, normal)
               ? network_names_judge_allowed(&policy->names, normal, port)
               : NAME_DENIED;
}

bool network_policy_judge_request(const struct network_policy *policy,
                                  const char *name, unsigned port,
                                  const char *method, const char *path,
                                  char **ret_allow)
{
    char normal[NETWORK_NAME_MAX + 1];

    *ret_allow = NULL;
    if (policy->kind == NETWORK_OPEN)
        return true;
    return network_name_normalize(name, normal) &&
           network_names_judge_request(&policy->names, normal, port, method,
                                       path, ret_allow);
}

char *network_policy_find_exception(const struct network_policy *policy,
                                    const char *name, unsigned port,
                                    const char *method, const char *path)
{
    char normal[NETWORK_NAME_MAX + 1];

    return network_name_normalize(name, normal)
               ? network_names_find_exception(&policy->names, normal, port,
                                              method, path)
               : NULL;
}

bool network_policy_divides_requests(const struct network_policy *policy,
                                     const char *name, unsigned port)
{
    char normal[NETWORK_NAME_MAX + 1];

    return policy->kind != NETWORK_OPEN &&
           network_name_normalize(name, normal) &&
           network_names_divide_requests(&policy->names, normal, port);
}

bool network_policy_intercepts(const struct network_policy *policy)
{
    return network_names_intercept(&policy->names, NULL);
}

bool network_policy_intercepts_name(const struct network_policy *policy,
                                    const char *name)
{
    char normal[NETWORK_NAME_MAX + 1];

    return network_name_normalize(name, normal) &&
           network_names_list(&policy->names, normal) &&
           network_names_intercept(&policy->names, normal);
}

bool network_policy_has_names(const struct network_policy *policy)
{
    return policy->names.count > 0;
}

bool network_policy_lists_name(const struct network_policy *policy,
                               const char *name)
{
    char normal[NETWORK_NAME_MAX + 1];

    return network_name_normalize(name, normal) &&
           network_names_list(&policy->names, normal);
}

bool network_policy_allows_name(const struct network_policy *policy,
                                const char *name)
{
    char normal[NETWORK_NAME_MAX + 1];

    return network_name_normalize(name, normal) &&
           network_names_allow(&policy->names, normal);
}

bool network_policy_has_below(const struct network_policy *policy,
                              const char *name)
{
    char normal[NETWORK_NAME_MAX + 1];

    return network_name_normalize(name, normal) &&
           network_names_have_below(&policy->names, normal);
}

bool network_policy_has_wildcard(const struct network_policy *policy,
                                 const char *name)
{
    char normal[NETWORK_NAME_MAX + 1];

    return network_name_normalize(name, normal) &&
           network_names_have_wildcard(&policy->names, normal);
}

bool network_policy_asks(const struct network_policy *policy)
{
    for (unsigned i = 0; i < policy->names.count; i++) {
        if (policy->names.entries[i].ask)
            return true;
    }
    return false;
}

bool network_policy_excepts_name(const struct network_policy *policy,
                                 const char *name)
{
    char normal[NETWORK_NAME_MAX + 1];

    return network_name_normalize(name, normal) &&
           network_names_except(&policy->names, normal);
}

/* ---- JSON ---------------------------------------------------------------- */

static gboolean invalid(GError **error, const char *text)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "the field 'network_policy' %s", text);
    return FALSE;
}

static gboolean invalid_entry(GError **error, const char *entry,
                              const char *text)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "the network policy allows '%.60s', which %s", entry, text);
    return FALSE;
}

static gboolean too_many(GError **error)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "the network policy has more than %d addresses and networks; "
                "use wider networks",
                NETWORK_POLICY_MAX);
    return FALSE;
}

/* Parse a decimal number from min to max. */
static bool parse_number(const char *text, unsigned min, unsigned max,
                         unsigned *ret_number)
{
    guint64 number;

    if (!g_ascii_string_to_unsigned(text, 10, min, max, &number, NULL))
        return false;
    *ret_number = (unsigned)number;
    return true;
}

/* Remove ":443" from the end of the text, and the brackets that IPv6 then
 * has. */
static bool cut_port(char **text, unsigned *ret_port)
{
    char *start = *text, *end;

    *ret_port = 0;
    if (*start == '[') {
        end = strstr(start, "]:");
        if (!end || !strchr(start, ':') || strchr(start, ':') > end)
            return false;
        *end++ = '\0';
        *text = start + 1;
    } else {
        end = strchr(start, ':');
        if (!end || strchr(end + 1, ':'))
            return true; /* none, or an IPv6 address */
    }
    *end = '\0';
    return parse_number(end + 1, 1, 65535, ret_port);
}

/* Parse "1.2.3.4", with or without "/8". */
static bool parse_prefix(char *text, struct network_prefix *prefix)
{
    char *slash = strchr(text, '/');
    unsigned max;

    if (slash)
        *slash = '\0';
    prefix->address.v6 = strchr(text, ':') != NULL;
    max = prefix->length = network_address_bits(&prefix->address);
    return inet_pton(prefix->address.v6 ? AF_INET6 : AF_INET, text,
                     prefix->address.bytes) == 1 &&
           (!slash || parse_number(slash + 1, 0, max, &prefix->length));
}

/* Clear the bits beyond the length. Return true if any was set. */
static bool clear_rest(struct network_prefix *prefix)
{
    bool found = false;

    for (unsigned bit = prefix->length; bit < 128; bit++) {
        uint8_t *byte = &prefix->address.bytes[bit / 8];
        uint8_t mask = (uint8_t)(0x80 >> bit % 8);

        found = found || *byte & mask;
        *byte &= (uint8_t)~mask;
    }
    return found;
}

static gboolean check_reachable(const struct network_prefix *prefix,
                                const char *entry, GError **error)
{
    const struct network_reserved *reserved = network_reserved_find(
        &prefix->address, prefix->length);

    if (!reserved || !reserved->never)
        return TRUE;
    return invalid_entry(
        error, entry,
        "no guest can reach; use 10.0.2.2 (fec0::2) for the host's own "
        "services, and dns for its name server");
}

static gboolean invalid_address(GError **error, const char *entry)
{
    if (g_str_has_suffix(entry, "/tcp") || g_str_has_suffix(entry, "/udp"))
        return invalid_entry(error, entry,
                             "has a protocol; leave it out, as in 1.2.3.4:53: "
                             "a port of an address is one of TCP and UDP");
    return invalid_entry(error, entry,
                         "is not an address (1.2.3.4, 2001:db8::1), "
                         "network (10.0.0.0/8, 2001:db8::/32) or name "
                         "(api.example.org, *.example.org), optionally "
                         "with a port (1.2.3.4:443, [2001:db8::1]:443, "
                         "example.org:8443)");
}

gboolean network_policy_add(struct network_policy *policy, const char *entry,
                            GError **error)
{
    struct network_prefix prefix = { 0 };
    g_autofree char *copy = g_strdup(entry), *problem = NULL, *right = NULL;
    char *text = copy;

    if (network_name_is_meant(entry))
        return network_names_add(&policy->names, entry, error);
    if (policy->count == NETWORK_POLICY_MAX)
        return too_many(error);
    if (!cut_port(&text, &prefix.port) || !parse_prefix(text, &prefix))
        return invalid_address(error, entry);
    if (clear_rest(&prefix)) {
        right = format_prefix(&prefix);
        problem = g_strdup_printf("has bits beyond its /%u; the network is %s",
                                  prefix.length, right);
        return invalid_entry(error, entry, problem);
    }
    if (!check_reachable(&prefix, entry, error))
        return FALSE;
    policy->allow[policy->count++] = prefix;
    return TRUE;
}

/* An entry ends at a NUL; the string may not. */
static gboolean add_value(network_policy_add_fn *add,
                          struct network_policy *policy, json_t *value,
                          GError **error)
{
    const char *entry = json_string_value(value);

    if (!entry)
        return invalid(error, "must have an 'allow' that is a list of strings");
    return add(policy, strlen(entry) == json_string_length(value) ? entry : "",
               error);
}

static gboolean parse_list(network_policy_add_fn *add, json_t *list,
                           struct network_policy *policy, GError **error)
{
    size_t i;
    json_t *entry;

    if (!json_is_array(list))
        return invalid(error, "must have an 'allow' that is a list of "
                              "addresses, networks and names");
    json_array_foreach(list, i, entry)
    {
        if (!add_value(add, policy, entry, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean parse_object(network_policy_add_fn *add, json_t *object,
                             struct network_policy *policy, GError **error)
{
    json_t *dns = json_object_get(object, "dns");

    if (json_object_size(object) != (dns ? 2 : 1))
        return invalid(error, "must have an 'allow' and may have a 'dns', "
                              "and no other members");
    if (dns && !json_is_boolean(dns))
        return invalid(error, "must have a 'dns' that is true or false");
    policy->kind = NETWORK_ALLOW;
    policy->dns = json_is_true(dns);
    return parse_list(add, json_object_get(object, "allow"), policy, error);
}

gboolean network_policy_parse_with(network_policy_add_fn *add, json_t *value,
                                   struct network_policy *ret_policy,
                                   GError **error)
{
    const char *name = value ? json_string_value(value) : "open";
    struct network_policy policy = { .kind = NETWORK_DISABLED };

    if (json_is_object(value)) {
        if (!parse_object(add, value, &policy, error))
            return FALSE;
    } else if (g_strcmp0(name, "open") == 0) {
        policy.kind = NETWORK_OPEN;
        policy.dns = true;
    } else if (g_strcmp0(name, "disabled") != 0) {
        return invalid(error, "must be \"open\", \"disabled\" or, for example, "
                              "{\"allow\":[\"10.0.0.0/8\",\"example.org\"]}");
    }
    *ret_policy = policy;
    return TRUE;
}

gboolean network_policy_parse(json_t *value, struct network_policy *ret_policy,
                              GError **error)
{
    return network_policy_parse_with(network_policy_add, value, ret_policy,
                                     error);
}

json_t *network_policy_to_json(const struct network_policy *policy)
{
    json_t *list;

    if (policy->kind != NETWORK_ALLOW)
        return json_string(policy->kind == NETWORK_OPEN ? "open" : "disabled");
    list = json_array();
    for (unsigned i = 0; i < policy->count; i++) {
        g_autofree char *text = format_prefix(&policy->allow[i]);

        json_array_append_new(list, json_string(text));
    }
    for (unsigned i = 0; i < policy->names.count; i++) {
        g_autofree char *text = network_names_format(&policy->names, i);

        json_array_append_new(list, json_string(text));
    }
    return json_pack("{s:o, s:b}", "allow", list, "dns", policy->dns);
}
