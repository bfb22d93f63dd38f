/* SPDX-License-Identifier: Apache-2.0
 *
 * certificate_authority - signs the certificates of names that are intercepted.
 *
 * There is one for each run of a sandbox, and its guest alone trusts it. The
 * key is in this process only, and never in a file.
 *
 *     authority  P-256, CA, no further authorities below it, for certificates
 *                and revocation lists
 *     leaf       P-256, a key of its own, one DNS name, for servers, valid from
 *                a day ago for three days
 *
 * Threads: one at a time.
 */
#ifndef AGENT_MACHINE_CERTIFICATE_AUTHORITY_H
#define AGENT_MACHINE_CERTIFICATE_AUTHORITY_H

#include <glib.h>

struct certificate_authority;

/* Check that certificates can be valid at this time of the host's clock (s
 * since 1970). On failure return FALSE with ERROR_INVALID_FIELD. */
gboolean certificate_authority_check_clock(gint64 now, GError **error);

/* sandbox: a name for people, any bytes; it is shortened. On failure return
 * NULL with ERROR_INTERNAL. */
struct certificate_authority *certificate_authority_new(const char *sandbox,
                                                        GError **error);
void certificate_authority_free(struct certificate_authority *authority);

/* Return the certificate in PEM. Borrowed. */
const char *
certificate_authority_pem(const struct certificate_authority *authority);

/* Sign a certificate for a DNS name. ret_chain: it and the authority's, in PEM;
 * ret_key: in PEM (PKCS #8); both are new strings, and the caller clears the
 * key. On failure return FALSE with ERROR_INVALID_FIELD (no name has this form)
 * or ERROR_INTERNAL. */
gboolean certificate_authority_issue(struct certificate_authority *authority,
                                     const char *name, char **ret_chain,
                                     char **ret_key, GError **error);

#endif
