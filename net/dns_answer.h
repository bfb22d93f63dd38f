/* SPDX-License-Identifier: Apache-2.0
 *
 * dns_answer - answers a guest's name query by the policy.
 *
 *     a listed name           A: its address of name_table.h; other types: no
 *                             data, so AAAA and ECH keys (HTTPS) do not exist
 *     another one, with dns   to the host's name server, if no exception
 *                             includes it
 *     above a listed name     no data, because it exists (RFC 8020)
 *     any other               does not exist
 *
 * Only a query of the second line leaves the host. A malformed one is answered
 * with an error and never passed on.
 */
#ifndef NET_DNS_ANSWER_H
#define NET_DNS_ANSWER_H

#include "common/network_policy.h"
#include "net/dns_message.h"
#include "net/name_table.h"

enum dns_outcome {
    DNS_NO_ANSWER, /* there must be none */
    DNS_ANSWERED,
    DNS_PASS_ON, /* to the host's name server */
};

struct dns_answer {
    enum dns_outcome outcome;
    enum dns_code code;
    /* A query for an address of a name that has none by the policy. */
    bool refused;
    char name[NETWORK_NAME_MAX + 1]; /* normalized; or "" */
    size_t length;
    uint8_t bytes[DNS_ANSWER_MAX];
};

/* Answer a query, without the length that TCP has in front of it. Return the
 * outcome; the other members of ret_answer are set unless it is
 * DNS_NO_ANSWER, and the bytes only if it is DNS_ANSWERED. */
enum dns_outcome dns_answer(const struct network_policy *policy,
                            struct name_table *table, const uint8_t *query,
                            size_t length, struct dns_answer *ret_answer);

#endif
