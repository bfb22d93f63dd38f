/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-leaves-test - certificates for guests, and the protocols that they
 * offer.
 */
#include <glib.h>
#include <openssl/pem.h>
#include <string.h>

#include "proxy/alpn.h"
#include "proxy/leaves.h"

/* ---- the supervisor ------------------------------------------------------ */

struct supervisor {
    unsigned requests;
    bool deaf;
    char *last; /* name */
};

static bool on_request(const char *name, void *opaque)
{
    struct supervisor *supervisor = opaque;

    supervisor->requests++;
    g_free(supervisor->last);
    supervisor->last = g_strdup(name);
    return !supervisor->deaf;
}

/* Return a PEM text of what write puts out. */
static char *to_pem(int (*write)(BIO *bio, void *data), void *data)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    long length;

    g_assert_cmpint(write(bio, data), ==, 1);
    length = BIO_get_mem_data(bio, &text);
    text = g_strndup(text, (gsize)length);
    BIO_free(bio);
    return text;
}

static int write_key(BIO *bio, void *key)
{
    return PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
}

static int write_certificate(BIO *bio, void *certificate)
{
    return PEM_write_bio_X509(bio, certificate);
}

struct made {
    char *chain, *key;
};

/* Make a certificate that is valid for these seconds from now. */
static struct made make(long from, long to)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    struct made made;

    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), from);
    X509_gmtime_adj(X509_getm_notAfter(certificate), to);
    X509_set_pubkey(certificate, key);
    g_assert_cmpint(X509_sign(certificate, key, EVP_sha256()), >, 0);
    made.chain = to_pem(write_certificate, certificate);
    made.key = to_pem(write_key, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return made;
}

static void clear(struct made *made)
{
    g_free(made->chain);
    g_free(made->key);
}

static enum leaf_state find(struct leaves *leaves, const char *name)
{
    const struct leaf *leaf = NULL;
    const char *reason = NULL;
    enum leaf_state state = leaves_find(leaves, name, &leaf, &reason);

    g_assert_true((state == LEAF_READY) == (leaf != NULL));
    g_assert_true((state == LEAF_FAILED) == (reason != NULL));
    return state;
}

/* ---- leaves -------------------------------------------------------------- */

static void test_a_leaf_is_requested_once(void)
{
    struct supervisor supervisor = { 0 };
    struct leaves *leaves = leaves_new(on_request, &supervisor);
    struct made made = make(-3600, 48 * 3600);

    g_assert_cmpint(find(leaves, "a.example"), ==, LEAF_WAITS);
    g_assert_cmpint(find(leaves, "a.example"), ==, LEAF_WAITS);
    g_assert_cmpuint(supervisor.requests, ==, 1);
    leaves_put(leaves, "b.example", made.chain, made.key, NULL);
    g_assert_cmpint(find(leaves, "a.example"), ==, LEAF_WAITS);
    leaves_put(leaves, "a.example", made.chain, made.key, NULL);
    g_assert_cmpint(find(leaves, "a.example"), ==, LEAF_READY);
    /* An answer without a request changes nothing. */
    leaves_put(leaves, "a.example", NULL, NULL, "no");
    g_assert_cmpint(find(leaves, "a.example"), ==, LEAF_READY);
    g_assert_cmpuint(supervisor.requests, ==, 1);
    leaves_free(leaves);
    clear(&made);
    g_free(supervisor.last);
}

static void test_bad_answers_fail(void)
{
    struct made good = make(-3600, 48 * 3600), other = make(-3600, 48 * 3600);
    struct made half = make(-3600, 3600 - 5), ended = make(-7200, -3600);
    const struct {
        const char *chain, *key, *problem;
    } answers[] = {
        { NULL, NULL, "no" },
        { NULL, NULL, NULL },
        { good.chain, NULL, NULL },
        { NULL, good.key, NULL },
        { "x", good.key, NULL },
        { good.chain, "", NULL },
        { good.chain, other.key, NULL },
        { half.chain, half.key, NULL },
        { ended.chain, ended.key, NULL },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
        struct supervisor supervisor = { 0 };
        struct leaves *leaves = leaves_new(on_request, &supervisor);

        g_assert_cmpint(find(leaves, "a.example"), ==, LEAF_WAITS);
        leaves_put(leaves, "a.example", answers[i].chain, answers[i].key,
                   answers[i].problem);
        if (find(leaves, "a.example") != LEAF_FAILED)
            g_error("answer %zu is accepted", i);
        leaves_free(leaves);
        g_free(supervisor.last);
    }
    clear(&good);
    clear(&other);
    clear(&half);
    clear(&ended);
}

/* Use a leaf until half of its life is over, about so many seconds after it was
 * made. Return false if that took longer. */
static bool use_half(unsigned seconds)
{
    struct supervisor supervisor = { 0 };
    struct leaves *leaves = leaves_new(on_request, &supervisor);
    struct made made = make(-3600, 3600 + 2 * (long)seconds);
    gint64 end = g_get_monotonic_time() + (20 + seconds) * G_USEC_PER_SEC;
    bool was_ready;

    find(leaves, "a.example");
    leaves_put(leaves, "a.example", made.chain, made.key, NULL);
    was_ready = find(leaves, "a.example") == LEAF_READY;
    while (was_ready && find(leaves, "a.example") == LEAF_READY) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(10000);
    }
    if (was_ready)
        g_assert_cmpuint(supervisor.requests, ==, 2);
    leaves_free(leaves);
    clear(&made);
    g_free(supervisor.last);
    return was_ready;
}

static void test_half_of_a_life_is_used(void)
{
    unsigned seconds = 1;

    while (!use_half(seconds)) {
        seconds *= 2;
        g_assert_cmpuint(seconds, <=, 16);
    }
}

static void test_a_supervisor_that_does_not_read(void)
{
    struct supervisor supervisor = { .deaf = true };
    struct leaves *leaves = leaves_new(on_request, &supervisor);

    g_assert_cmpint(find(leaves, "a.example"), ==, LEAF_FAILED);
    leaves_free(leaves);
    g_free(supervisor.last);
}

static void test_the_number_of_leaves_is_bounded(void)
{
    struct supervisor supervisor = { 0 };
    struct leaves *leaves = leaves_new(on_request, &supervisor);

    for (int i = 0; i < LEAVES_MAX; i++) {
        g_autofree char *name = g_strdup_printf("n%d.example", i);

        find(leaves, name);
        leaves_put(leaves, name, NULL, NULL, "refused");
    }
    /* The first becomes the most recent one, so the second goes. */
    find(leaves, "n0.example");
    g_assert_cmpuint(supervisor.requests, ==, LEAVES_MAX);
    find(leaves, "one-more.example");
    find(leaves, "n0.example");
    g_assert_cmpuint(supervisor.requests, ==, LEAVES_MAX + 1);
    find(leaves, "n1.example");
    g_assert_cmpuint(supervisor.requests, ==, LEAVES_MAX + 2);
    g_assert_cmpstr(supervisor.last, ==, "n1.example");
    leaves_free(leaves);
    g_free(supervisor.last);
}

/* Those that are waited for stay: to drop one would have it made again. */
static void test_leaves_that_are_made_stay(void)
{
    struct supervisor supervisor = { 0 };
    struct leaves *leaves = leaves_new(on_request, &supervisor);

    for (int i = 0; i < LEAVES_MAX; i++) {
        g_autofree char *name = g_strdup_printf("n%d.example", i);

        find(leaves, name);
    }
    g_assert_cmpint(find(leaves, "one-more.example"), ==, LEAF_FAILED);
    g_assert_cmpint(find(leaves, "n0.example"), ==, LEAF_WAITS);
    g_assert_cmpuint(supervisor.requests, ==, LEAVES_MAX);
    leaves_put(leaves, "n0.example", NULL, NULL, "refused");
    g_assert_cmpint(find(leaves, "one-more.example"), ==, LEAF_WAITS);
    leaves_free(leaves);
    g_free(supervisor.last);
}

/* ---- protocols ----------------------------------------------------------- */

static void test_lists_of_protocols(void)
{
    static const struct {
        const char *list; /* after its length */
        bool ok;
        unsigned protocols;
        const char *wire;
    } cases[] = {
        { "\2h2\10http/1.1", true, ALPN_HTTP1 | ALPN_HTTP2, "\2h2\10http/1.1" },
        { "\10http/1.1\2h2", true, ALPN_HTTP1 | ALPN_HTTP2, "\10http/1.1\2h2" },
        { "\2h2\2h2\2h2\2h2\2h2\2h2\2h2\2h2", true, ALPN_HTTP2, "\2h2" },
        { "\4acme\2h2\2h3", true, ALPN_HTTP2, "\2h2" },
        { "\10http/1.0\3h2c\2H2", true, 0, "" },
        { "", false, 0, "" },
        { "\3h2", false, 0, "" },
        { "\2h2\10http/1", false, ALPN_HTTP2, "\2h2" },
        { "\2h2\1", false, ALPN_HTTP2, "\2h2" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        size_t length = strlen(cases[i].list);
        g_autofree uint8_t *data = g_malloc(length + 2);
        struct alpn alpn;

        data[0] = 0;
        data[1] = (uint8_t)length;
        memcpy(data + 2, cases[i].list, length);
        if (alpn_parse(&alpn, data, length + 2) != cases[i].ok ||
            alpn.protocols != cases[i].protocols ||
            alpn.wire_length != strlen(cases[i].wire) ||
            memcmp(alpn.wire, cases[i].wire, alpn.wire_length) != 0)
            g_error("list %zu", i);
        data[1]++;
        g_assert_false(alpn_parse(&alpn, data, length + 2));
        for (size_t cut = 0; cut < 2; cut++)
            g_assert_false(alpn_parse(&alpn, data, cut));
    }
}

static void test_an_empty_name_is_malformed(void)
{
    static const uint8_t list[] = { 0, 4, 0, 2, 'h', '2' };
    struct alpn alpn;

    g_assert_false(alpn_parse(&alpn, list, sizeof(list)));
}

static void test_a_protocol_is_found_in_a_list(void)
{
    static const uint8_t list[] = "\4acme\2h2\10http/1.1";
    uint8_t length = 0;

    g_assert_true(alpn_find(list, sizeof(list) - 1, ALPN_HTTP2, &length) ==
                  list + 6);
    g_assert_cmpuint(length, ==, 2);
    g_assert_true(alpn_find(list, sizeof(list) - 1, ALPN_HTTP1, &length) ==
                  list + 9);
    g_assert_cmpuint(length, ==, 8);
    g_assert_null(alpn_find(list, 8, ALPN_HTTP1, &length));
    g_assert_null(alpn_find(list, 12, ALPN_HTTP1, &length));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/leaves/a leaf is requested once",
                    test_a_leaf_is_requested_once);
    g_test_add_func("/leaves/bad answers fail", test_bad_answers_fail);
    g_test_add_func("/leaves/half of a life is used",
                    test_half_of_a_life_is_used);
    g_test_add_func("/leaves/a supervisor does not read",
                    test_a_supervisor_that_does_not_read);
    g_test_add_func("/leaves/the number of leaves is bounded",
                    test_the_number_of_leaves_is_bounded);
    g_test_add_func("/leaves/those that are made stay",
                    test_leaves_that_are_made_stay);
    g_test_add_func("/alpn/lists are read strictly", test_lists_of_protocols);
    g_test_add_func("/alpn/an empty name is malformed",
                    test_an_empty_name_is_malformed);
    g_test_add_func("/alpn/a protocol is found in a list",
                    test_a_protocol_is_found_in_a_list);
    return g_test_run();
}
