/* SPDX-License-Identifier: Apache-2.0
 *
 * tls_trust - see tls_trust.h.
 */
#include "proxy/tls_trust.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/errors.h"
#include "proxy/tls_context.h"

/* The longest chain of a server: certificates, and bytes of them all. */
enum { DEPTH_MAX = 10, CHAIN_MAX = 32 << 10 };

static gboolean fail(GError **error, const char *text)
{
    g_set_error(error, STEPBACK_ERROR, ERROR_IO_ERROR,
                "authorities of servers: %s", text);
    return FALSE;
}

gboolean tls_trust_begin(GError **error)
{
    unsigned char byte;
    bool ok = OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG |
                                   OPENSSL_INIT_LOAD_SSL_STRINGS |
                                   OPENSSL_INIT_LOAD_CRYPTO_STRINGS,
                               NULL) == 1 &&
              RAND_bytes(&byte, 1) == 1;

    ERR_clear_error();
    return ok || fail(error, "OpenSSL cannot be initialized");
}

/* Return the file's content, or NULL and error. */
static GByteArray *read_file(int fd, GError **error)
{
    GByteArray *content = g_byte_array_new();
    guint8 part[16384];
    ssize_t n;

    while ((n = pread(fd, part, sizeof(part), content->len)) != 0 &&
           content->len <= TLS_TRUST_MAX) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fail(error, g_strerror(errno));
            break;
        }
        g_byte_array_append(content, part, (guint)n);
    }
    if (n == 0)
        return content;
    if (n > 0)
        fail(error, "the list is longer than 8 MiB");
    g_byte_array_unref(content);
    return NULL;
}

/* Return the number of certificates that were added. */
static unsigned add_all(X509_STORE *store, BIO *list)
{
    unsigned count = 0;

    for (;;) {
        X509 *certificate = PEM_read_bio_X509(list, NULL, NULL, NULL);
        bool ended = ERR_GET_REASON(ERR_peek_last_error()) ==
                     PEM_R_NO_START_LINE;

        ERR_clear_error();
        if (certificate && X509_STORE_add_cert(store, certificate) == 1)
            count++;
        ERR_clear_error();
        if (!certificate && (ended || BIO_eof(list)))
            return count;
        X509_free(certificate);
    }
}

SSL_CTX *tls_trust_load(int fd, GError **error)
{
    g_autoptr(GByteArray) content = read_file(fd, error);
    SSL_CTX *context = NULL;
    BIO *list = NULL;
    unsigned count = 0;

    if (!content)
        return NULL;
    context = tls_context_new(TLS_client_method());
    list = BIO_new_mem_buf(content->data, (int)content->len);
    if (context && list) {
        X509_STORE *store = SSL_CTX_get_cert_store(context);

        /* The list may have the certificate of a server, or of an authority
         * below another one. */
        X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context),
                                    X509_V_FLAG_PARTIAL_CHAIN);
        X509_VERIFY_PARAM_set_depth(SSL_CTX_get0_param(context), DEPTH_MAX);
        /* A server chooses what this process computes and keeps. */
        SSL_CTX_set_max_cert_list(context, CHAIN_MAX);
        if (SSL_CTX_set_cipher_list(context, "DEFAULT:!kDHE") == 1)
            count = add_all(store, list);
    }
    BIO_free(list);
    ERR_clear_error();
    if (count > 0)
        return context;
    SSL_CTX_free(context);
    fail(error, "the list has no certificate");
    return NULL;
}
