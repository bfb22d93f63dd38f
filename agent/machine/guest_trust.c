/* SPDX-License-Identifier: Apache-2.0
 *
 * guest_trust - see guest_trust.h.
 */
#include "agent/machine/guest_trust.h"

#include "agent/machine/certificate_authority.h"

struct guest_trust {
    const struct session_config *config;
    struct certificate_authority *authority; /* NULL: not needed yet */
};

struct guest_trust *guest_trust_new(const struct session_config *config)
{
    struct guest_trust *trust = g_new0(struct guest_trust, 1);

    trust->config = config;
    return trust;
}

void guest_trust_free(struct guest_trust *trust)
{
    if (trust)
        certificate_authority_free(trust->authority);
    g_free(trust);
}

/* ---- the authority ------------------------------------------------------- */

static gboolean make_authority(struct guest_trust *trust, GError **error)
{
    const struct session_config *config = trust->config;
    g_autofree char *name = config->n_directories > 0
                                ? g_path_get_basename(
                                      config->directories[0]->path)
                                : g_strdup("sandbox");

    if (!trust->authority)
        trust->authority = certificate_authority_new(name, error);
    return trust->authority != NULL;
}

const char *guest_trust_authority(struct guest_trust *trust, GError **error)
{
    return make_authority(trust, error)
               ? certificate_authority_pem(trust->authority)
               : NULL;
}

gboolean guest_trust_issue(struct guest_trust *trust, const char *name,
                           char **ret_chain, char **ret_key, GError **error)
{
    return make_authority(trust, error) &&
           certificate_authority_issue(trust->authority, name, ret_chain,
                                       ret_key, error);
}

/* ---- the policy ---------------------------------------------------------- */

bool guest_trust_intercepts(const struct session_config *config)
{
    return config->secrets->len > 0 ||
           network_policy_intercepts(&config->network);
}

struct network_policy *guest_trust_policy(const struct guest_trust *trust,
                                          const struct network_policy *policy)
{
    struct network_policy *copy = g_new(struct network_policy, 1);

    *copy = *policy;
    if (!secret_list_intercept(trust->config->secrets, copy, NULL))
        *copy = (struct network_policy){ .kind = NETWORK_DISABLED };
    return copy;
}

const GPtrArray *guest_trust_secrets(const struct guest_trust *trust)
{
    return trust->config->secrets;
}

/* ---- certificates -------------------------------------------------------- */

char *guest_trust_certificates(struct guest_trust *trust, GError **error)
{
    const char *given = trust->config->certificates;
    const char *own = guest_trust_intercepts(trust->config)
                          ? guest_trust_authority(trust, error)
                          : NULL;

    if (!own)
        return g_strdup(given);
    return g_strconcat(given ? given : "", own, NULL);
}

gboolean guest_trust_added(struct guest_trust *trust, bool authority,
                           char **ret_pem, GError **error)
{
    const char *given = trust->config->certificates, *own = "";

    if (authority && !(own = guest_trust_authority(trust, error)))
        return FALSE;
    *ret_pem = given || authority ? g_strconcat(given ? given : "", own, NULL)
                                  : NULL;
    return TRUE;
}

const char *guest_trust_given(const struct guest_trust *trust)
{
    return trust->config->certificates;
}

const char *const *guest_trust_bundle_paths(void)
{
    /* Of Debian and Arch Linux, Fedora, openSUSE, and others. */
    static const char *const files[] = {
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
        NULL,
    };

    return files;
}

char *guest_trust_host_bundle(void)
{
    char *text;

    for (const char *const *file = guest_trust_bundle_paths(); *file; file++) {
        if (g_file_get_contents(*file, &text, NULL, NULL))
            return text;
    }
    return g_strdup("");
}

/* ---- variables ----------------------------------------------------------- */

/* Programs with certificates of their own ignore the system's. */
static const char *const variables[] = {
    "NODE_EXTRA_CA_CERTS=" GUEST_TRUST_ADDED,
    "DENO_CERT=" GUEST_TRUST_ADDED,
    "SSL_CERT_FILE=" GUEST_TRUST_BUNDLE,
    "REQUESTS_CA_BUNDLE=" GUEST_TRUST_BUNDLE,
    "GIT_SSL_CAINFO=" GUEST_TRUST_BUNDLE,
    "CURL_CA_BUNDLE=" GUEST_TRUST_BUNDLE,
    "CARGO_HTTP_CAINFO=" GUEST_TRUST_BUNDLE,
    "PIP_CERT=" GUEST_TRUST_BUNDLE,
    "AWS_CA_BUNDLE=" GUEST_TRUST_BUNDLE,
    NULL,
};

char *const *guest_trust_env(const struct session_config *config)
{
    return config->isolation == ISOLATION_LOCAL &&
                   (config->certificates || guest_trust_intercepts(config))
               ? (char *const *)variables
               : NULL;
}
