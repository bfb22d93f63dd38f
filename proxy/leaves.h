/* SPDX-License-Identifier: Apache-2.0
 *
 * leaves - the certificates that the proxy shows guests for names.
 *
 * The supervisor issues them on request (certificate_authority.h): the
 * authority's key is not in this process. A leaf is used until half of its life
 * is over, then it is requested again. A guest can connect to any number of
 * names below a wildcard, so only the LEAVES_MAX most recently used are kept.
 */
#ifndef PROXY_LEAVES_H
#define PROXY_LEAVES_H

#include <glib.h>
#include <openssl/ssl.h>
#include <stdbool.h>

enum { LEAVES_MAX = 256 };

struct leaves;

/* Request the certificate of a name, for leaves_put(). Return false if that is
 * not possible now. */
typedef bool leaves_request(const char *name, void *opaque);

struct leaf {
    X509 *certificate;
    EVP_PKEY *key;
    STACK_OF(X509) * chain; /* of its issuers */
};

struct leaves *leaves_new(leaves_request *request, void *opaque);
void leaves_free(struct leaves *leaves);

enum leaf_state { LEAF_READY, LEAF_WAITS, LEAF_FAILED };

/* Look for the leaf of a name, and request it if it is missing. Ready:
 * *ret_leaf is borrowed until the next call of any function here. Failed:
 * *ret_reason is, too. */
enum leaf_state leaves_find(struct leaves *leaves, const char *name,
                            const struct leaf **ret_leaf,
                            const char **ret_reason);

/* Answer a request: the chain (PEM, leaf first) and key (PEM) of a name, or
 * problem, a text. Names that were not requested are ignored. */
void leaves_put(struct leaves *leaves, const char *name, const char *chain,
                const char *key, const char *problem);

#endif
