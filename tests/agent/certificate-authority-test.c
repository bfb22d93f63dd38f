/* SPDX-License-Identifier: Apache-2.0
 *
 * certificate-authority-test - certificates of names that are intercepted, as
 * openssl(1) sees them.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <string.h>

#include "agent/machine/certificate_authority.h"
#include "common/errors.h"

struct world {
    char *folder;
    struct certificate_authority *authority;
};

static char *path_of(const struct world *world, const char *file)
{
    return g_build_filename(world->folder, file, NULL);
}

static void put(const struct world *world, const char *file, const char *text)
{
    g_autofree char *path = path_of(world, file);

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void set_up(struct world *world, gconstpointer data)
{
    GError *error = NULL;

    world->folder = g_dir_make_tmp("authority-XXXXXX", &error);
    world->authority = certificate_authority_new(data, &error);
    g_assert_no_error(error);
    put(world, "ca.pem", certificate_authority_pem(world->authority));
}

static void tear_down(struct world *world, gconstpointer data)
{
    static const char *const files[] = { "ca.pem", "leaf.pem", "key.pem" };

    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = path_of(world, files[i]);

        g_unlink(path);
    }
    g_assert_cmpint(g_rmdir(world->folder), ==, 0);
    g_free(world->folder);
    certificate_authority_free(world->authority);
}

static void issue(const struct world *world, const char *name)
{
    g_autofree char *chain = NULL, *key = NULL;
    GError *error = NULL;

    certificate_authority_issue(world->authority, name, &chain, &key, &error);
    g_assert_no_error(error);
    put(world, "leaf.pem", chain);
    put(world, "key.pem", key);
}

/* Run openssl in the folder. Return whether it exits with 0. */
static bool openssl(const struct world *world, const char *arguments,
                    char **ret_output)
{
    g_autofree char *line = g_strconcat("openssl ", arguments, NULL);
    g_auto(GStrv) argv = g_strsplit(line, " ", -1);
    g_autofree char *errors = NULL;
    int status;

    g_assert_true(g_spawn_sync(world->folder, argv, NULL, G_SPAWN_SEARCH_PATH,
                               NULL, NULL, ret_output, &errors, &status, NULL));
    g_test_message("%s: %s%s", line, *ret_output, errors);
    return g_spawn_check_wait_status(status, NULL);
}

static bool verifies(const struct world *world, const char *more)
{
    g_autofree char *output = NULL;
    g_autofree char *arguments = g_strconcat("verify -x509_strict -CAfile "
                                             "ca.pem ",
                                             more, " leaf.pem", NULL);

    return openssl(world, arguments, &output);
}

static char *print(const struct world *world, const char *file)
{
    g_autofree char *arguments = g_strconcat(
        "x509 -noout -subject -nameopt utf8 -serial -text -in ", file, NULL);
    char *output;

    g_assert_true(openssl(world, arguments, &output));
    return output;
}

static void test_verification(struct world *world, gconstpointer data)
{
    issue(world, "API.Example.org.");
    g_assert_true(verifies(world, "-purpose sslserver -verify_hostname "
                                  "api.example.org"));
    g_assert_false(verifies(world, "-verify_hostname example.org"));
    g_assert_false(verifies(world, "-verify_hostname a.api.example.org"));
    g_assert_false(verifies(world, "-purpose sslclient"));
}

/* A leaf is from a day ago to in two days: a clock can be set back. */
static void test_validity(struct world *world, gconstpointer data)
{
    gint64 now = g_get_real_time() / G_USEC_PER_SEC;
    static const struct {
        int seconds;
        bool valid;
    } times[] = { { -24 * 3600 - 100, false },
                  { -24 * 3600 + 100, true },
                  { 48 * 3600 - 100, true },
                  { 48 * 3600 + 100, false } };

    issue(world, "api.example.org");
    for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
        g_autofree char *option = g_strdup_printf("-attime %" G_GINT64_FORMAT,
                                                  now + times[i].seconds);

        g_assert_true(verifies(world, option) == times[i].valid);
    }
}

static void test_other_authority(struct world *world, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    struct certificate_authority *other = certificate_authority_new(data,
                                                                    &error);

    issue(world, "api.example.org");
    put(world, "ca.pem", certificate_authority_pem(other));
    g_assert_false(verifies(world, "-purpose sslserver"));
    certificate_authority_free(other);
}

static void expect(const char *text, const char *const *parts)
{
    for (; *parts; parts++) {
        g_test_message("%s", *parts);
        g_assert_nonnull(strstr(text, *parts));
    }
}

static void test_extensions(struct world *world, gconstpointer data)
{
    static const char *const of_ca[] = {
        "Public-Key: (256 bit)",       "prime256v1",
        "Basic Constraints: critical", "CA:TRUE, pathlen:0",
        "Key Usage: critical",         "Certificate Sign, CRL Sign",
        "Subject Key Identifier",      "Stepback box (run ",
        "ecdsa-with-SHA256",           NULL,
    };
    static const char *const of_leaf[] = {
        "Public-Key: (256 bit)",
        "prime256v1",
        "CA:FALSE",
        "Digital Signature",
        "TLS Web Server",
        "DNS:api.example.org\n",
        "Subject Key Ident",
        "Authority Key Ident",
        "ecdsa-with-SHA256",
        NULL,
    };
    g_autofree char *ca = print(world, "ca.pem"), *leaf = NULL;

    issue(world, "api.example.org");
    leaf = print(world, "leaf.pem");
    expect(ca, of_ca);
    expect(leaf, of_leaf);
    g_assert_null(strstr(leaf, "CA:TRUE"));
}

/* The key is the leaf's, each leaf has its own, and serial numbers differ. */
static void test_keys(struct world *world, gconstpointer data)
{
    g_autofree char *key = NULL, *of_leaf = NULL, *next = NULL, *serial = NULL;
    g_autofree char *next_serial = NULL;

    issue(world, "api.example.org");
    g_assert_true(openssl(world, "pkey -pubout -in key.pem", &key));
    g_assert_true(openssl(world, "x509 -noout -pubkey -in leaf.pem", &of_leaf));
    g_assert_true(openssl(world, "x509 -noout -serial -in leaf.pem", &serial));
    g_assert_cmpstr(key, ==, of_leaf);
    issue(world, "api.example.org");
    g_assert_true(openssl(world, "x509 -noout -pubkey -in leaf.pem", &next));
    g_assert_true(
        openssl(world, "x509 -noout -serial -in leaf.pem", &next_serial));
    g_assert_cmpstr(next, !=, of_leaf);
    g_assert_cmpstr(serial, !=, next_serial);
    g_assert_cmpuint(strlen(serial), >, strlen("serial=\n") + 16);
}

static void test_long_name(struct world *world, gconstpointer data)
{
    g_autofree char *label = g_strnfill(63, 'x');
    g_autofree char *name = g_strdup_printf("%s.%s.%s.example.org", label,
                                            label, label);
    g_autofree char *option = g_strconcat("-verify_hostname ", name, NULL);

    issue(world, name);
    g_assert_true(verifies(world, option));
}

static void test_bad_names(struct world *world, gconstpointer data)
{
    static const char *const names[] = {
        "",       "a,DNS:b.org", "a b.org",     "*.a.org",
        "a..org", "a.org\n",     "\xc3\xbc.org"
    };

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *chain = NULL, *key = NULL;
        g_autoptr(GError) error = NULL;

        g_assert_false(certificate_authority_issue(world->authority, names[i],
                                                   &chain, &key, &error));
        g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
        g_assert_null(chain);
        g_assert_null(key);
    }
}

static void test_odd_sandbox(struct world *world, gconstpointer data)
{
    issue(world, "api.example.org");
    g_assert_true(verifies(world, "-purpose sslserver"));
}

#define ADD(path, sandbox, test)                                               \
    g_test_add("/authority/" path, struct world, sandbox, set_up, test,        \
               tear_down)

static void test_clock(struct world *world, gconstpointer data)
{
    GError *error = NULL;

    g_assert_true(certificate_authority_check_clock(
        g_get_real_time() / G_USEC_PER_SEC, NULL));
    g_assert_false(certificate_authority_check_clock(G_MININT64, NULL));
    g_assert_false(certificate_authority_check_clock(0, &error));
    g_assert_error(error, STEPBACK_ERROR, ERROR_INVALID_FIELD);
    g_assert_cmpstr(error->message, ==,
                    "the host's clock: it says 1970-01-01T00:00:00Z, so that "
                    "no certificate of a server is valid; set the clock");
    g_clear_error(&error);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("openssl-accepts-a-leaf-for-its-name-only", "box", test_verification);
    ADD("leaf-is-valid-for-two-days", "box", test_validity);
    ADD("leaf-belongs-to-its-run", "box", test_other_authority);
    ADD("a-clock-that-is-off-is-an-error", "box", test_clock);
    ADD("certificates-have-their-extensions", "box", test_extensions);
    ADD("each-leaf-has-its-key-and-number", "box", test_keys);
    ADD("name-too-long-for-a-subject", "box", test_long_name);
    ADD("other-texts-are-no-names", "box", test_bad_names);
    ADD("sandbox-with-a-long-name",
        "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc"
        "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc"
        "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc",
        test_odd_sandbox);
    ADD("sandbox-with-odd-bytes", "\xff/\n=,+\"", test_odd_sandbox);
    return g_test_run();
}
