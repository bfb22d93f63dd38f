/* SPDX-License-Identifier: Apache-2.0
 *
 * certificate_authority - see certificate_authority.h.
 */
#include "agent/machine/certificate_authority.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <string.h>

#include "common/errors.h"
#include "common/network_name.h"

enum {
    /* 2026: no earlier time is right. */
    EARLIEST = 1767225600,
    VERSION_3 = 2,
    SERIAL_BITS = 128,
    COMMON_NAME_MAX = 64, /* bytes (RFC 5280, ub-common-name) */
    HOUR = 3600,
    DAY = 24 * HOUR,
    LEAF_LIFE = 2 * DAY,
    /* Longer than any run: the key ends with that. */
    AUTHORITY_LIFE = 10 * 365 * DAY,
    /* For a clock that is set back: of leaves, and of the authority. */
    LEAF_EARLY = DAY,
    AUTHORITY_EARLY = 365 * DAY,
};

struct certificate_authority {
    EVP_PKEY *key;
    X509 *certificate;
    char *pem;
};

G_DEFINE_AUTOPTR_CLEANUP_FUNC(X509, X509_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EVP_PKEY, EVP_PKEY_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BIO, BIO_free_all)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BIGNUM, BN_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(X509_EXTENSION, X509_EXTENSION_free)

static gboolean fail(GError **error)
{
    char reason[256];

    ERR_error_string_n(ERR_get_error(), reason, sizeof(reason));
    ERR_clear_error();
    g_set_error(error, STEPBACK_ERROR, ERROR_INTERNAL,
                "cannot make a certificate: %s", reason);
    return FALSE;
}

gboolean certificate_authority_check_clock(gint64 now, GError **error)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(now);
    g_autofree char *text = time ? g_date_time_format_iso8601(time) : NULL;

    if (now >= EARLIEST)
        return TRUE;
    g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                "the host's clock: it says %s, so that no certificate of a "
                "server is valid; set the clock",
                text ? text : "a time before the year 1");
    return FALSE;
}

/* ---- the parts of a certificate ------------------------------------------ */

static bool set_serial(X509 *certificate)
{
    g_autoptr(BIGNUM) number = BN_new();

    return number &&
           BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) &&
           BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
}

static bool set_times(X509 *certificate, long early, long life)
{
    return X509_gmtime_adj(X509_getm_notBefore(certificate), -early) &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), life);
}

/* text: UTF-8. */
static bool set_subject(X509 *certificate, const char *text)
{
    return X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate),
                                      NID_commonName, MBSTRING_UTF8,
                                      (const unsigned char *)text, -1, -1, 0);
}

static bool add_extension(X509 *certificate, X509 *issuer, int kind,
                          const char *value)
{
    g_autoptr(X509_EXTENSION) extension = NULL;
    X509V3_CTX context;

    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    return extension && X509_add_ext(certificate, extension, -1);
}

/* Return a certificate without subject, extensions and signature. */
static X509 *begin(EVP_PKEY *key, long early, long life)
{
    g_autoptr(X509) certificate = X509_new();

    if (!certificate || !X509_set_version(certificate, VERSION_3) ||
        !set_serial(certificate) || !set_times(certificate, early, life) ||
        !X509_set_pubkey(certificate, key))
        return NULL;
    return g_steal_pointer(&certificate);
}

/* ---- PEM ----------------------------------------------------------------- */

/* Return what was written: a new string. */
static char *text_of(BIO *bio)
{
    char *data;
    long length = BIO_get_mem_data(bio, &data);

    return g_strndup(data, (gsize)length);
}

static char *certificate_text(X509 *certificate)
{
    g_autoptr(BIO) bio = BIO_new(BIO_s_mem());

    return bio && PEM_write_bio_X509(bio, certificate) ? text_of(bio) : NULL;
}

static char *key_text(EVP_PKEY *key)
{
    g_autoptr(BIO) bio = BIO_new(BIO_s_secmem());

    return bio && PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL,
                                                NULL)
               ? text_of(bio)
               : NULL;
}

/* ---- the authority ------------------------------------------------------- */

/* Each run has its own subject, since clients look for an issuer by that. */
static char *subject_of(const char *sandbox)
{
    guint32 run = 0;
    g_autofree char *valid = g_utf8_make_valid(sandbox, -1), *end = NULL;
    const char *cut;

    RAND_bytes((unsigned char *)&run, sizeof(run));
    end = g_strdup_printf(" (run %08x)", run);
    cut = valid + MIN(strlen(valid),
                      COMMON_NAME_MAX - strlen("Stepback ") - strlen(end));
    if (*cut)
        cut = g_utf8_find_prev_char(valid, cut + 1);
    return g_strdup_printf("Stepback %.*s%s", (int)(cut - valid), valid, end);
}

static X509 *sign_itself(EVP_PKEY *key, const char *subject)
{
    g_autoptr(X509) own = begin(key, AUTHORITY_EARLY, AUTHORITY_LIFE);

    if (!own || !set_subject(own, subject) ||
        !X509_set_issuer_name(own, X509_get_subject_name(own)) ||
        !add_extension(own, own, NID_basic_constraints,
                       "critical,CA:TRUE,pathlen:0") ||
        !add_extension(own, own, NID_key_usage,
                       "critical,keyCertSign,cRLSign") ||
        !add_extension(own, own, NID_subject_key_identifier, "hash") ||
        !X509_sign(own, key, EVP_sha256()))
        return NULL;
    return g_steal_pointer(&own);
}

struct certificate_authority *certificate_authority_new(const char *sandbox,
                                                        GError **error)
{
    struct certificate_authority *authority = g_new0(
        struct certificate_authority, 1);
    g_autofree char *subject = subject_of(sandbox);

    authority->key = EVP_EC_gen("P-256");
    if (authority->key)
        authority->certificate = sign_itself(authority->key, subject);
    if (authority->certificate)
        authority->pem = certificate_text(authority->certificate);
    if (authority->pem)
        return authority;
    fail(error);
    certificate_authority_free(authority);
    return NULL;
}

void certificate_authority_free(struct certificate_authority *authority)
{
    if (!authority)
        return;
    X509_free(authority->certificate);
    EVP_PKEY_free(authority->key);
    g_free(authority->pem);
    g_free(authority);
}

const char *
certificate_authority_pem(const struct certificate_authority *authority)
{
    return authority->pem;
}

/* ---- leaves -------------------------------------------------------------- */

/* A name that is too long for a subject is an alternative name only, which
 * then is critical (RFC 5280, 4.2.1.6). */
static bool name_leaf(X509 *leaf, X509 *issuer, const char *name)
{
    bool fits = strlen(name) <= COMMON_NAME_MAX;
    g_autofree char *value = g_strconcat(fits ? "" : "critical,", "DNS:", name,
                                         NULL);

    return (!fits || set_subject(leaf, name)) &&
           add_extension(leaf, issuer, NID_subject_alt_name, value);
}

static X509 *sign_leaf(struct certificate_authority *authority, EVP_PKEY *key,
                       const char *name)
{
    g_autoptr(X509) leaf = begin(key, LEAF_EARLY, LEAF_LIFE);
    X509 *issuer = authority->certificate;

    if (!leaf || !X509_set_issuer_name(leaf, X509_get_subject_name(issuer)) ||
        !name_leaf(leaf, issuer, name) ||
        !add_extension(leaf, issuer, NID_basic_constraints,
                       "critical,CA:FALSE") ||
        !add_extension(leaf, issuer, NID_key_usage,
                       "critical,digitalSignature") ||
        !add_extension(leaf, issuer, NID_ext_key_usage, "serverAuth") ||
        !add_extension(leaf, issuer, NID_subject_key_identifier, "hash") ||
        !add_extension(leaf, issuer, NID_authority_key_identifier,
                       "keyid:always") ||
        !X509_sign(leaf, authority->key, EVP_sha256()))
        return NULL;
    return g_steal_pointer(&leaf);
}

gboolean certificate_authority_issue(struct certificate_authority *authority,
                                     const char *name, char **ret_chain,
                                     char **ret_key, GError **error)
{
    char normal[NETWORK_NAME_MAX + 1];
    g_autoptr(EVP_PKEY) key = NULL;
    g_autoptr(X509) leaf = NULL;
    g_autofree char *text = NULL, *of_key = NULL;

    if (!network_name_normalize(name, normal)) {
        g_set_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD,
                    "a certificate needs a DNS name");
        return FALSE;
    }
    key = EVP_EC_gen("P-256");
    if (key)
        leaf = sign_leaf(authority, key, normal);
    if (leaf)
        text = certificate_text(leaf);
    of_key = text ? key_text(key) : NULL;
    if (!of_key)
        return fail(error);
    *ret_chain = g_strconcat(text, authority->pem, NULL);
    *ret_key = g_steal_pointer(&of_key);
    return TRUE;
}
