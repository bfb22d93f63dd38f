/* SPDX-License-Identifier: Apache-2.0
 *
 * tls_context - see tls_context.h.
 */
#include "proxy/tls_context.h"

/* Bits of security of keys and hash functions: RSA of 2048 bits, SHA-2. */
enum { SECURITY_LEVEL = 2 };

/* Of key exchange: no finite fields, whose arithmetic a peer could make slow.
 */
#define GROUPS "X25519:P-256:P-384:P-521"
/* Both ends are copied through this process: the cheapest first. */
#define CIPHERS                                                                \
    "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:"                     \
    "TLS_AES_256_GCM_SHA384"

SSL_CTX *tls_context_new(const SSL_METHOD *method)
{
    SSL_CTX *context = SSL_CTX_new(method);

    if (!context)
        return NULL;
    SSL_CTX_set_security_level(context, SECURITY_LEVEL);
    SSL_CTX_set_options(
        context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                     SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                     SSL_OP_NO_COMPRESSION | SSL_OP_CLEANSE_PLAINTEXT |
                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS |
                                  SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* A peer that sends records without data must not keep a read going. */
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_early_data(context, 0);
    if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) &&
        SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) &&
        SSL_CTX_set_num_tickets(context, 0) &&
        SSL_CTX_set_ciphersuites(context, CIPHERS) &&
        SSL_CTX_set1_groups_list(context, GROUPS))
        return context;
    SSL_CTX_free(context);
    return NULL;
}
