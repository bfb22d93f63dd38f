/* SPDX-License-Identifier: Apache-2.0
 *
 * certificates - certificates of authorities that a guest is to trust.
 *
 * Only certificates leave this module, encoded anew: text around them, private
 * keys and other objects do not.
 */
#ifndef AGENT_BASE_CERTIFICATES_H
#define AGENT_BASE_CERTIFICATES_H

#include <glib.h>
#include <stddef.h>

/* All certificates of a session, as PEM: one message to the guest. */
enum { CERTIFICATES_MAX = 512 * 1024 };

/* Append the certificates in PEM, or the one in DER, to pem; those that are in
 * it already are skipped. On failure return FALSE with ERROR_INVALID_FIELD:
 * there is none, one is damaged, there is a private key, or the result would
 * exceed CERTIFICATES_MAX. */
gboolean certificates_add(GString *pem, const char *data, size_t len,
                          GError **error);

/* The same for a file. Messages begin with its path. */
gboolean certificates_add_file(GString *pem, const char *path, GError **error);

/* Append those that the administrator has added to this host's: the folders of
 * $STEPBACK_CERTIFICATE_PATH, or else those of the distributions. Files that
 * are not certificates are skipped. */
void certificates_add_host(GString *pem);

unsigned certificates_count(const char *pem);

#endif
