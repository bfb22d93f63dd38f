/* SPDX-License-Identifier: Apache-2.0
 *
 * tls_problem - why a TLS session failed, as a text for users.
 */
#ifndef PROXY_TLS_PROBLEM_H
#define PROXY_TLS_PROBLEM_H

#include <openssl/ssl.h>
#include <stdbool.h>

/* Describe the failure of a call, by OpenSSL's error queue, which it empties.
 * error: of SSL_get_error(); problem: the errno of the socket, or 0. Return a
 * new string. */
char *tls_problem_describe(const SSL *session, int error, int problem);

#endif
