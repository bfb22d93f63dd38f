/* SPDX-License-Identifier: Apache-2.0
 *
 * dns_message - reads a DNS query and writes its answer (RFC 1035, 6891).
 *
 *     0    2       4       6       8       10      12
 *     +----+-------+-------+-------+-------+-------+----------+-----+
 *     | id | flags | 1     | 0     | 0     | 0, 1  | question | OPT |
 *     +----+-------+-------+-------+-------+-------+----------+-----+
 *
 * Strict, because the guest writes the query: exactly one question, whose name
 * has no compression pointers, no records but an OPT, and no bytes behind. The
 * answer repeats the question byte for byte, as resolvers compare its case.
 */
#ifndef NET_DNS_MESSAGE_H
#define NET_DNS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/network_name.h"

enum { DNS_TTL_S = 60 };

enum dns_code {
    DNS_NOERROR = 0,
    DNS_FORMERR = 1,
    DNS_SERVFAIL = 2,
    DNS_NXDOMAIN = 3,
    DNS_NOTIMP = 4,
    DNS_REFUSED = 5,
    DNS_BADVERS = 16, /* of OPT */
};

enum dns_type { DNS_A = 1, DNS_AAAA = 28 };

/* The longest answer: header, question, an address, OPT. */
enum { DNS_ANSWER_MAX = 12 + 255 + 4 + 16 + 11 };

struct dns_query {
    unsigned id, flags;
    /* The bytes of the question, behind the header; 0: it is malformed. */
    size_t question_length;
    unsigned type;
    bool is_root;
    /* Normalized; "" if it is the root, or a name that no policy can list. */
    char name[NETWORK_NAME_MAX + 1];
    bool has_opt;
    bool dnssec_ok; /* the DO bit of OPT */
};

/* Read a query. Return false if there must be no answer: it is too short for
 * one, or an answer itself. Else ret_code is DNS_NOERROR, or the error for the
 * answer to a query that is malformed, or of a kind that is not supported. */
bool dns_query_read(const uint8_t *data, size_t length,
                    struct dns_query *ret_query, enum dns_code *ret_code);

/* Write an answer to the query that was read from data: with an A record if
 * address (4 bytes) is not NULL. Return its length. */
size_t dns_answer_write(const struct dns_query *query, const uint8_t *data,
                        enum dns_code code, const uint8_t *address,
                        uint8_t ret_answer[DNS_ANSWER_MAX]);

#endif
