/* SPDX-License-Identifier: Apache-2.0
 *
 * leaves - see leaves.h.
 */
#include "proxy/leaves.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

/* A failure is the answer for so long; a request can be repeated after that
 * time. */
enum {
    FAILED_TIME = G_USEC_PER_SEC,
    REQUEST_TIME = 20 * G_USEC_PER_SEC,
};

struct entry {
    char *name; /* the key */
    enum leaf_state state;
    struct leaf leaf;
    char *reason;
    gint64 until; /* of the state; monotonic clock */
    guint64 used; /* the number of the last use */
};

struct leaves {
    leaves_request *request;
    void *opaque;
    GHashTable *entries; /* by name */
    guint64 uses;
};

static void clear(struct entry *entry)
{
    g_clear_pointer(&entry->leaf.certificate, X509_free);
    g_clear_pointer(&entry->leaf.key, EVP_PKEY_free);
    sk_X509_pop_free(entry->leaf.chain, X509_free);
    entry->leaf.chain = NULL;
    g_clear_pointer(&entry->reason, g_free);
}

static void free_entry(gpointer data)
{
    struct entry *entry = data;

    clear(entry);
    g_free(entry->name);
    g_free(entry);
}

struct leaves *leaves_new(leaves_request *request, void *opaque)
{
    struct leaves *leaves = g_new0(struct leaves, 1);

    leaves->request = request;
    leaves->opaque = opaque;
    leaves->entries = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
                                            free_entry);
    return leaves;
}

void leaves_free(struct leaves *leaves)
{
    if (!leaves)
        return;
    g_hash_table_unref(leaves->entries);
    g_free(leaves);
}

static void set_failed(struct entry *entry, const char *reason)
{
    clear(entry);
    entry->state = LEAF_FAILED;
    entry->reason = g_strdup_printf("cannot make a certificate for %s: %s",
                                    entry->name, reason);
    entry->until = g_get_monotonic_time() + FAILED_TIME;
}

/* ---- requests ------------------------------------------------------------ */

/* Drop the leaf that was used least recently. Return false if all are waited
 * for. */
static bool drop_oldest(struct leaves *leaves)
{
    GHashTableIter iter;
    gpointer value;
    struct entry *oldest = NULL;

    g_hash_table_iter_init(&iter, leaves->entries);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct entry *entry = value;

        if (entry->state != LEAF_WAITS &&
            (!oldest || entry->used < oldest->used))
            oldest = entry;
    }
    if (oldest)
        g_hash_table_remove(leaves->entries, oldest->name);
    return oldest != NULL;
}

static struct entry *add(struct leaves *leaves, const char *name)
{
    struct entry *entry;

    if (g_hash_table_size(leaves->entries) >= LEAVES_MAX &&
        !drop_oldest(leaves))
        return NULL;
    entry = g_new0(struct entry, 1);
    entry->name = g_strdup(name);
    g_hash_table_insert(leaves->entries, entry->name, entry);
    return entry;
}

static void request(struct leaves *leaves, struct entry *entry)
{
    clear(entry);
    entry->state = LEAF_WAITS;
    entry->until = g_get_monotonic_time() + REQUEST_TIME;
    if (!leaves->request(entry->name, leaves->opaque))
        set_failed(entry, "the supervisor does not read");
}

/* Return the microseconds until half of the certificate's life is over, by the
 * clock of the day, as its users count; 0 or less if it is, or before it. */
static gint64 half_life(const X509 *certificate)
{
    const ASN1_TIME *from = X509_get0_notBefore(certificate);
    const ASN1_TIME *to = X509_get0_notAfter(certificate);
    int days, seconds, past_days, past_seconds;
    gint64 life, past;

    if (!ASN1_TIME_diff(&days, &seconds, from, to) ||
        !ASN1_TIME_diff(&past_days, &past_seconds, from, NULL))
        return 0;
    life = (gint64)days * 86400 + seconds;
    past = (gint64)past_days * 86400 + past_seconds;
    return past < 0 ? 0 : (life / 2 - past) * G_USEC_PER_SEC;
}

enum leaf_state leaves_find(struct leaves *leaves, const char *name,
                            const struct leaf **ret_leaf,
                            const char **ret_reason)
{
    struct entry *entry = g_hash_table_lookup(leaves->entries, name);
    bool found = entry != NULL;

    if (!found)
        entry = add(leaves, name);
    if (!entry) {
        *ret_reason = "too many certificates are being made";
        return LEAF_FAILED;
    }
    entry->used = ++leaves->uses;
    if (!found || g_get_monotonic_time() >= entry->until ||
        (entry->state == LEAF_READY && half_life(entry->leaf.certificate) <= 0))
        request(leaves, entry);
    if (entry->state == LEAF_READY)
        *ret_leaf = &entry->leaf;
    else if (entry->state == LEAF_FAILED)
        *ret_reason = entry->reason;
    return entry->state;
}

/* ---- answers ------------------------------------------------------------- */

static EVP_PKEY *read_key(const char *text)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)"")
                        : NULL;

    BIO_free(bio);
    return key;
}

/* Return whether the leaf and all certificates after it were read. */
static bool read_chain(const char *text, struct leaf *leaf)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    X509 *next;

    leaf->certificate = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    leaf->chain = sk_X509_new_null();
    while (leaf->certificate && leaf->chain &&
           (next = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        if (sk_X509_push(leaf->chain, next) > 0)
            continue;
        X509_free(next);
        break;
    }
    BIO_free(bio);
    return leaf->certificate && leaf->chain;
}

void leaves_put(struct leaves *leaves, const char *name, const char *chain,
                const char *key, const char *problem)
{
    struct entry *entry = g_hash_table_lookup(leaves->entries, name);
    gint64 left = 0;

    if (!entry || entry->state != LEAF_WAITS)
        return;
    ERR_clear_error();
    if (problem || !chain || !key) {
        set_failed(entry, problem ? problem : "the answer is incomplete");
        return;
    }
    entry->leaf.key = read_key(key);
    if (entry->leaf.key && read_chain(chain, &entry->leaf) &&
        X509_check_private_key(entry->leaf.certificate, entry->leaf.key) == 1)
        left = half_life(entry->leaf.certificate);
    ERR_clear_error();
    if (left <= 0) {
        set_failed(entry, "it is malformed, or too old");
        return;
    }
    entry->state = LEAF_READY;
    entry->until = g_get_monotonic_time() + left;
}
