/* SPDX-License-Identifier: Apache-2.0
 *
 * dns_answer - see dns_answer.h.
 */
#include "net/dns_answer.h"

/* Return the code for a well-formed query; ret_has_address for a listed name's
 * A, and ret_pass_on. */
static enum dns_code judge(const struct network_policy *policy,
                           struct name_table *table,
                           const struct dns_query *query, uint8_t *address,
                           bool *ret_has_address, bool *ret_pass_on)
{
    const char *name = query->name;

    if (network_policy_lists_name(policy, name)) {
        if (query->type != DNS_A)
            return DNS_NOERROR;
        *ret_has_address = name_table_add(table, name, address);
        return *ret_has_address ? DNS_NOERROR : DNS_SERVFAIL;
    }
    *ret_pass_on = policy->dns && !network_policy_excepts_name(policy, name);
    return query->is_root || network_policy_has_below(policy, name)
               ? DNS_NOERROR
               : DNS_NXDOMAIN;
}

/* Programs ask for other types of names that they do not need (SRV, NS). */
static bool is_refused(const struct network_policy *policy,
                       const struct dns_query *query)
{
    return (query->type == DNS_A || query->type == DNS_AAAA) &&
           query->name[0] != '\0' &&
           !network_policy_lists_name(policy, query->name);
}

enum dns_outcome dns_answer(const struct network_policy *policy,
                            struct name_table *table, const uint8_t *query,
                            size_t length, struct dns_answer *ret_answer)
{
    struct dns_query parsed;
    bool has_address = false, pass_on = false;
    uint8_t address[4];
    enum dns_code code;

    if (!dns_query_read(query, length, &parsed, &code))
        return ret_answer->outcome = DNS_NO_ANSWER;
    if (code == DNS_NOERROR)
        code = judge(policy, table, &parsed, address, &has_address, &pass_on);
    ret_answer->code = code;
    g_strlcpy(ret_answer->name, parsed.name, sizeof(ret_answer->name));
    ret_answer->refused = false;
    if (pass_on)
        return ret_answer->outcome = DNS_PASS_ON;
    ret_answer->refused = (code == DNS_NXDOMAIN || code == DNS_NOERROR) &&
                          is_refused(policy, &parsed);
    ret_answer->length = dns_answer_write(
        &parsed, query, code, has_address ? address : NULL, ret_answer->bytes);
    return ret_answer->outcome = DNS_ANSWERED;
}
