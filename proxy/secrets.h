/* SPDX-License-Identifier: Apache-2.0
 *
 * secrets - values that the proxy puts into requests, and that a guest never
 * sees.
 *
 * The guest has a placeholder for each value. It becomes the value only in the
 * header fields that the secret lists, in requests to its hosts, on a
 * connection with TLS. In header fields of responses the value becomes the
 * placeholder again, also within Base64 (RFC 4648, both alphabets, padded or
 * not); bodies, and other encodings of a value, are not searched.
 *
 * The memory of the values is locked, and not in core dumps. One thread.
 */
#ifndef PROXY_SECRETS_H
#define PROXY_SECRETS_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A value that is shorter would be found in fields that have nothing to do
 * with it. */
enum {
    SECRETS_MAX = 64,
    SECRETS_VALUE_MIN = 8,
    SECRETS_VALUE_MAX = 8 << 10,
    SECRETS_PLACEHOLDER_MIN = 8,
    SECRETS_PLACEHOLDER_MAX = 64,
};

struct secrets;

struct secrets *secrets_new(void);
void secrets_free(struct secrets *secrets); /* NULL is allowed */

/* Replace all by the JSON list (borrowed)
 *
 *     [{"name":"GITHUB_TOKEN", "placeholder":"stepback-...", "value":"...",
 *       "hosts":["api.github.com", "*.example.org"],
 *       "headers":["authorization"]}]
 *
 * or none of them. On failure the error is ERROR_INVALID_FIELD, or
 * ERROR_IO_ERROR without memory. */
gboolean secrets_configure(struct secrets *secrets, json_t *list,
                           GError **error);

enum secrets_verdict { SECRETS_NONE, SECRETS_REPLACED, SECRETS_REFUSED };

/* Put values into a field of a request to host. Also looks inside the
 * credentials of "Basic" (RFC 7617).
 *
 * SECRETS_REPLACED: ret_value (cleared first) has the new value, at most 32
 * KiB. SECRETS_REFUSED: there is a placeholder that the host or the field must
 * not have, or the connection has no TLS; ret_reason is a static text. */
enum secrets_verdict secrets_put_in(struct secrets *secrets, const char *host,
                                    bool tls, const char *header,
                                    const char *value, size_t len,
                                    GString *ret_value,
                                    const char **ret_reason);

/* A response header of the host: each occurrence of a value of its secrets,
 * plain, percent-encoded or in Base64, becomes the placeholder. Return whether
 * anything was replaced; then ret_value is the whole new value. */
bool secrets_take_out(struct secrets *secrets, const char *host,
                      const char *value, size_t len, GString *ret_value);

#endif
