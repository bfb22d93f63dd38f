/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_trust - whose certificates a guest trusts, beside its own system's.
 *
 * Those of the host's administrator and of the user (config->certificates), and
 * if requests are intercepted those of this run's authority. A virtual machine
 * gets them by the message "setup" (shim/wire.h). A sandbox of local isolation
 * has two files from its start; if certificates are given, or as soon as
 * requests are intercepted, variables for its executions name them.
 *
 * Threads: one at a time.
 */
#ifndef AGENT_MACHINE_GUEST_TRUST_H
#define AGENT_MACHINE_GUEST_TRUST_H

#include "agent/machine/session_config.h"

/* The files of local isolation: the host's bundle with the certificates that
 * are given and the authority's, and those without the bundle. */
#define GUEST_TRUST_BUNDLE "/run/stepback/ca-certificates.crt"
#define GUEST_TRUST_ADDED  "/run/stepback/added.crt"

struct guest_trust;

/* config: borrowed. */
struct guest_trust *guest_trust_new(const struct session_config *config);
void guest_trust_free(struct guest_trust *trust);

/* Return the authority's certificate in PEM (borrowed). It is made by the first
 * call. On failure return NULL with ERROR_INTERNAL. */
const char *guest_trust_authority(struct guest_trust *trust, GError **error);

/* As certificate_authority_issue(). */
gboolean guest_trust_issue(struct guest_trust *trust, const char *name,
                           char **ret_chain, char **ret_key, GError **error);

/* Return the certificates for a guest by the policy of config: a new string in
 * PEM, or NULL if there are none. Without an authority (error is set then) the
 * others are returned. */
char *guest_trust_certificates(struct guest_trust *trust, GError **error);

/* Set *ret_pem to the content of GUEST_TRUST_ADDED, a new string; NULL: no
 * certificates. authority: with that of this run, whose policy can intercept
 * later. On failure return FALSE with ERROR_INTERNAL. */
gboolean guest_trust_added(struct guest_trust *trust, bool authority,
                           char **ret_pem, GError **error);

/* Return whether requests to any name are intercepted, by the policy of config
 * or because of its secrets. */
bool guest_trust_intercepts(const struct session_config *config);

/* Return a copy of a policy that intercepts requests to the hosts of secrets,
 * too: a new struct. A policy that cannot becomes "disabled". */
struct network_policy *guest_trust_policy(const struct guest_trust *trust,
                                          const struct network_policy *policy);

/* Return the secrets of config. Borrowed. */
const GPtrArray *guest_trust_secrets(const struct guest_trust *trust);

/* Return the certificates that were given for the guest, in PEM, or NULL.
 * Borrowed. */
const char *guest_trust_given(const struct guest_trust *trust);

/* Return the host's bundle, a new string in PEM, which may be empty. */
char *guest_trust_host_bundle(void);

/* Return the paths that systems have such a list at, ended by NULL: static. */
const char *const *guest_trust_bundle_paths(void);

/* Return the variables for executions in local isolation (static), NULL: none
 * by this policy and without certificates. */
char *const *guest_trust_env(const struct session_config *config);

#endif
