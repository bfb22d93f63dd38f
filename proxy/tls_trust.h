/* SPDX-License-Identifier: Apache-2.0
 *
 * tls_trust - the authorities whose certificates the proxy accepts of servers.
 *
 * The supervisor passes them in a file, which is read before the confinement:
 * later no file can be opened. Neither OpenSSL's configuration nor its default
 * folders are read.
 */
#ifndef PROXY_TLS_TRUST_H
#define PROXY_TLS_TRUST_H

#include <glib.h>
#include <openssl/ssl.h>

/* Of the file; the host's bundle has 0.2 MiB. */
enum { TLS_TRUST_MAX = 8 << 20 };

/* Initialize OpenSSL, so that it needs no file later. Call it once, before any
 * other use of OpenSSL. */
gboolean tls_trust_begin(GError **error);

/* Return a new context for connections to servers that trusts the certificates
 * (PEM) in a file (borrowed; read from its start). NULL and error if it cannot
 * be read, or has no certificate. Certificates that OpenSSL cannot read are
 * ignored. */
SSL_CTX *tls_trust_load(int fd, GError **error);

#endif
