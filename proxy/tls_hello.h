/* SPDX-License-Identifier: Apache-2.0
 *
 * tls_hello - reads the server's name in a ClientHello (RFC 8446, 4.1.2).
 *
 *     record     22, version (2), length (2), a part of the handshake message
 *     message    1, length (3), version (2), random (32), session id, cipher
 *                suites, compression methods, extensions
 *     extension  server_name (0): one host_name (RFC 6066, 3)
 *
 * The message may come in several records. encrypted_client_hello is refused:
 * the server would use the name within it. So is its imitation (GREASE, RFC
 * 9849, 6.2), which nothing tells from it.
 *
 * A second ClientHello, after a HelloRetryRequest, and a renegotiation cannot
 * be read from outside of the session; a server must refuse a second one with
 * another name (RFC 8446, 4.1.2).
 */
#ifndef PROXY_TLS_HELLO_H
#define PROXY_TLS_HELLO_H

#include <stddef.h>
#include <stdint.h>

#include "proxy/host_name.h"

/* Bytes of all records up to the message's end. */
enum { TLS_HELLO_MAX = 16 << 10 };

enum tls_hello_verdict { TLS_HELLO_MORE, TLS_HELLO_PASSED, TLS_HELLO_REFUSED };

/* Judge the first bytes of a connection: all that were received so far. The
 * verdict about a longer input is the same, unless it is TLS_HELLO_MORE.
 * refusal is set with TLS_HELLO_REFUSED. */
enum tls_hello_verdict tls_hello_judge(const uint8_t *data, size_t length,
                                       const char *name,
                                       struct refusal *refusal);

#endif
