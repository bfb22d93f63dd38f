/* SPDX-License-Identifier: Apache-2.0
 *
 * tls_problem - see tls_problem.h.
 */
#include "proxy/tls_problem.h"

#include <glib.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

struct text {
    int code;
    const char *text;
};

/* Alerts are reasons from here on (RFC 8446, 6.2). */
enum { ALERT = SSL_AD_REASON_OFFSET };

static const char *find(const struct text *texts, size_t count, int code)
{
    for (size_t i = 0; i < count; i++) {
        if (texts[i].code == code)
            return texts[i].text;
    }
    return NULL;
}

/* ---- certificates -------------------------------------------------------- */

static const struct text verdicts[] = {
    { X509_V_ERR_CERT_HAS_EXPIRED, "has expired (by the host's clock)" },
    { X509_V_ERR_CERT_NOT_YET_VALID,
      "is not valid yet; check the host's clock" },
    { X509_V_ERR_HOSTNAME_MISMATCH, "is for another name" },
    { X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
      "is self-signed; --ca-certificates can add it" },
    { X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
      "is from an authority that the host does not trust; --ca-certificates "
      "can add it" },
    { X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      "is from an authority that the host does not trust; --ca-certificates "
      "can add it" },
    { X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
      "is from an authority that the host does not trust; --ca-certificates "
      "can add it" },
    { X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
      "comes without those of its issuers" },
    { X509_V_ERR_CERT_SIGNATURE_FAILURE, "has a wrong signature" },
    { X509_V_ERR_INVALID_PURPOSE, "is not one of a server" },
    { X509_V_ERR_EE_KEY_TOO_SMALL, "has a key that is too short" },
    { X509_V_ERR_CA_KEY_TOO_SMALL, "has an issuer whose key is too short" },
    { X509_V_ERR_CA_MD_TOO_WEAK, "is signed with a broken hash function" },
};

static char *describe_verdict(const SSL *session, long verdict)
{
    const char *name = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name);
    const char *text = find(verdicts, G_N_ELEMENTS(verdicts), (int)verdict);

    if (text)
        return g_strdup_printf("the certificate of %s %s",
                               name ? name : "the server", text);
    return g_strdup_printf("the certificate of %s is not valid: %s",
                           name ? name : "the server",
                           X509_verify_cert_error_string(verdict));
}

/* ---- handshakes ---------------------------------------------------------- */

static const struct text of_guests[] = {
    { ALERT + SSL_AD_UNKNOWN_CA,
      "the guest's program does not trust the sandbox's authority; it has a "
      "list of its own, or pins the server's certificate" },
    { ALERT + SSL_AD_BAD_CERTIFICATE,
      "the guest's program rejects the sandbox's certificate (alert "
      "bad_certificate)" },
    { ALERT + SSL_AD_CERTIFICATE_UNKNOWN,
      "the guest's program rejects the sandbox's certificate (alert "
      "certificate_unknown)" },
    { ALERT + SSL_AD_CERTIFICATE_EXPIRED,
      "the guest's program takes the sandbox's certificate for expired; check "
      "the guest's clock" },
    { SSL_R_UNSUPPORTED_PROTOCOL,
      "the guest offers neither TLS 1.2 nor TLS 1.3" },
    { SSL_R_VERSION_TOO_LOW, "the guest offers neither TLS 1.2 nor TLS 1.3" },
    { SSL_R_NO_SHARED_CIPHER, "the guest offers no cipher suite that is safe" },
};

static const struct text of_servers[] = {
    { ALERT + SSL_AD_PROTOCOL_VERSION,
      "the server supports neither TLS 1.2 nor TLS 1.3" },
    { SSL_R_UNSUPPORTED_PROTOCOL,
      "the server supports neither TLS 1.2 nor TLS 1.3" },
    { ALERT + SSL_AD_HANDSHAKE_FAILURE,
      "the server refuses the TLS handshake (alert handshake_failure)" },
    { ALERT + SSL_AD_UNRECOGNIZED_NAME,
      "the server does not know the name (alert unrecognized_name)" },
    { ALERT + SSL_AD_NO_APPLICATION_PROTOCOL,
      "the server accepts none of the HTTP versions that the guest offers" },
    { ALERT + SSL_AD_CERTIFICATE_REQUIRED,
      "the server demands a certificate of the client, which interception "
      "cannot pass on" },
    { SSL_R_WRONG_VERSION_NUMBER, "the server does not answer in TLS" },
    { SSL_R_UNKNOWN_PROTOCOL, "the server does not answer in TLS" },
    { SSL_R_DH_KEY_TOO_SMALL, "the server's key exchange is too weak" },
};

static char *describe_session(bool guest, int reason)
{
    const char *peer = guest ? "the guest" : "the server";
    const char *text = guest
                           ? find(of_guests, G_N_ELEMENTS(of_guests), reason)
                           : find(of_servers, G_N_ELEMENTS(of_servers), reason);

    if (text)
        return g_strdup(text);
    if (reason > ALERT)
        return g_strdup_printf("%s ended the TLS session (alert %d, %s)", peer,
                               reason - ALERT,
                               SSL_alert_desc_string_long(reason - ALERT));
    return NULL;
}

char *tls_problem_describe(const SSL *session, int error, int problem)
{
    bool guest = SSL_is_server(session);
    const char *peer = guest ? "the guest" : "the server";
    long verdict = guest ? X509_V_OK : SSL_get_verify_result(session);
    unsigned long code = ERR_peek_error();
    const char *detail = code ? ERR_reason_error_string(code) : NULL;
    char *text = NULL;

    ERR_clear_error();
    if (verdict != X509_V_OK)
        return describe_verdict(session, verdict);
    if (problem)
        return g_strdup_printf("the connection to %s failed: %s", peer,
                               g_strerror(problem));
    if (error == SSL_ERROR_ZERO_RETURN || error == SSL_ERROR_SYSCALL)
        return g_strdup_printf("%s closed the connection during the TLS "
                               "handshake",
                               peer);
    if (code && ERR_GET_LIB(code) == ERR_LIB_SSL)
        text = describe_session(guest, ERR_GET_REASON(code));
    return text ? text
                : g_strdup_printf("the TLS session with %s failed: %s", peer,
                                  detail ? detail : "unknown error");
}
