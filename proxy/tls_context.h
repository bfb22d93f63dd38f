/* SPDX-License-Identifier: Apache-2.0
 *
 * tls_context - the common settings of TLS.
 *
 * TLS 1.2 and 1.3 only; no renegotiation, early data, compression, session
 * cache or tickets; a security level that refuses short keys and SHA-1.
 */
#ifndef PROXY_TLS_CONTEXT_H
#define PROXY_TLS_CONTEXT_H

#include <openssl/ssl.h>

/* Return a new context, for SSL_CTX_free(), or NULL without memory. */
SSL_CTX *tls_context_new(const SSL_METHOD *method);

#endif
