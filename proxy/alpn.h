/* SPDX-License-Identifier: Apache-2.0
 *
 * alpn - the protocols that a TLS client offers (RFC 7301), as far as they can
 * be relayed.
 *
 *     extension  length (2), list
 *     list       of each protocol: length (1), name
 */
#ifndef PROXY_ALPN_H
#define PROXY_ALPN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ALPN_UNKNOWN: a server has chosen what it was not offered. */
enum alpn_protocol { ALPN_HTTP1 = 1, ALPN_HTTP2 = 2, ALPN_UNKNOWN = 4 };

struct alpn {
    bool present;         /* the client sent the extension */
    unsigned protocols;   /* of enum alpn_protocol */
    uint8_t wire[16];     /* the list with these protocols, in its order */
    unsigned wire_length; /* bytes */
};

/* Add a protocol at the end, unless it is there. */
void alpn_add(struct alpn *alpn, enum alpn_protocol protocol);

/* Read an extension. Return false if it is malformed. */
bool alpn_parse(struct alpn *alpn, const uint8_t *data, size_t length);

/* Return the protocol of a name that is not in a list; 0: another one. */
unsigned alpn_protocol_of(const uint8_t *name, size_t length);

/* Find a protocol in a list. Return its name within it, after which the length
 * is known; NULL: not there. */
const uint8_t *alpn_find(const uint8_t *list, size_t length,
                         enum alpn_protocol protocol, uint8_t *ret_length);

#endif
