/* SPDX-License-Identifier: Apache-2.0
 *
 * network_path - paths of HTTP requests, and the prefixes of a network policy.
 *
 *     /v1     /v1, /v1/x; not /v10
 *     /v1/    /v1/, /v1/x
 *     /       all
 *
 * Servers differ in what they make of a path: some decode it twice, merge
 * slashes, cut parameters (";x") or resolve ".." before or after that. A path
 * that could mean another one to the server is in no form here. The rest is
 * compared in two forms, so that each kind of rule is on the strict side.
 */
#ifndef COMMON_NETWORK_PATH_H
#define COMMON_NETWORK_PATH_H

#include <stdbool.h>
#include <stddef.h>

enum { NETWORK_PATH_MAX = 255, NETWORK_REQUEST_PATH_MAX = 8192 };

struct network_path {
    /* Unreserved characters (RFC 3986, 2.3) are decoded. */
    char exact[NETWORK_REQUEST_PATH_MAX + 1];
    /* All are decoded, and there are no parameters. */
    char loose[NETWORK_REQUEST_PATH_MAX + 1];
};

/* Return the problem of a policy's prefix (length bytes; it begins with '/'),
 * NULL if there is none, and its offset. Static. */
const char *network_path_find_problem(const char *prefix, size_t length,
                                      size_t *ret_at);

/* Convert the path of a request, without query. Return false if it is longer
 * than NETWORK_REQUEST_PATH_MAX, or could mean another path: it has segments
 * "." or "..", empty segments before the end, a backslash, an encoded dot,
 * slash, backslash or percent sign, a malformed encoding, bytes that are not
 * printable ASCII, or an encoding of bytes that are not UTF-8 or not
 * printable. */
bool network_path_convert(const char *path, struct network_path *ret_path);

/* Return whether a rule that allows the prefix applies. */
bool network_path_is_allowed(const struct network_path *path,
                             const char *prefix);

/* Return whether an exception for the prefix applies: more paths, since it
 * ignores case, too. */
bool network_path_is_denied(const struct network_path *path,
                            const char *prefix);

#endif
