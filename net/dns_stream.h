/* SPDX-License-Identifier: Apache-2.0
 *
 * dns_stream - answers the guest's DNS queries over TCP (RFC 7766).
 *
 * Each message has its length before it, in two bytes. Answers come in the
 * order of the queries. A connection ends when the guest closes it, sends a
 * malformed or too long query, does not read its answers, or is idle for
 * DNS_STREAM_IDLE_S.
 *
 * Threads: that of the default GMainContext.
 */
#ifndef NET_DNS_STREAM_H
#define NET_DNS_STREAM_H

#include <stddef.h>
#include <stdint.h>

enum {
    DNS_STREAM_IDLE_S = 10,
    DNS_STREAM_MAX = 32,     /* connections */
    DNS_STREAM_QUERY = 1024, /* bytes */
    DNS_STREAM_ANSWER = 1024,
};

struct dns_stream;

/* Write the answer to this query and return its length; 0 ends the
 * connection. */
typedef size_t (*dns_stream_answer)(const uint8_t *query, size_t length,
                                    uint8_t ret_answer[DNS_STREAM_ANSWER],
                                    void *opaque);

struct dns_stream *dns_stream_new(dns_stream_answer answer, void *opaque);
void dns_stream_free(struct dns_stream *stream);

/* Serve a new connection. Return the guest's end, non-blocking, which the
 * caller owns, or -errno; -ECONNREFUSED beyond DNS_STREAM_MAX. */
int dns_stream_open(struct dns_stream *stream);

#endif
