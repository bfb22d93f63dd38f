/* SPDX-License-Identifier: Apache-2.0
 *
 * setup - the host's certificates and git identity in the guest's system files.
 *
 *     /usr/local/share/ca-certificates/stepback-host.crt   the certificates
 *     /etc/ssl/certs/ca-certificates.crt   the bundle; gets them at its end,
 *                                          between two comments
 *     /usr/lib/ssl/cert.pem   what OpenSSL reads beside its hashed folder
 *     /etc/stepback/gitconfig the identity, included by /etc/gitconfig
 *
 * The files are those of Debian. Each is replaced by a rename, and a second
 * setup has the same result as the first.
 */
#ifndef SHIM_SETUP_H
#define SHIM_SETUP_H

#include <stdbool.h>
#include <stddef.h>

#define SETUP_VARIABLES 9

struct setup {
    const char *certificates, *git_name, *git_email; /* each may be NULL */
};

/* Write below this folder from now on. Without this call nothing is written. */
void setup_open(const char *root);
bool setup_is_open(void);

/* Return false with the reason in error. */
bool setup_apply(const struct setup *setup, char *error, size_t error_len);

/* Return a variable for executions, or NULL beyond the last one. Static. */
const char *setup_variable(size_t index);

#endif
