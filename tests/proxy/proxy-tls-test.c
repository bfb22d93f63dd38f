/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-tls-test - which ClientHello passes stepback-proxy.
 */
#include <glib.h>
#include <string.h>

#include "tests/proxy/check_judge.h"

/* ---- TLS ----------------------------------------------------------------- */

/* A ClientHello as its parts say. */
struct hello {
    const char *extensions; /* in hexadecimal; NULL: not even their length */
    size_t record;          /* bytes of the message in each record; 0: all */
    size_t cut;             /* bytes that are missing at the end */
    const char *junk;       /* in hexadecimal, at the message's end */
};

static void append_hex(GByteArray *to, const char *hex)
{
    for (; hex && hex[0]; hex += 2) {
        guint8 byte = (guint8)(g_ascii_xdigit_value(hex[0]) << 4 |
                               g_ascii_xdigit_value(hex[1]));

        g_byte_array_append(to, &byte, 1);
    }
}

static void append_number(GByteArray *to, size_t number, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        guint8 byte = (guint8)(number >> i * 8);

        g_byte_array_append(to, &byte, 1);
    }
}

static GByteArray *build_message(const struct hello *hello)
{
    GByteArray *body = g_byte_array_new(), *message = g_byte_array_new();

    append_hex(body, "0303");
    for (int i = 0; i < 32; i++)
        append_hex(body, "5a");
    append_hex(body, "00"
                     "00021301"
                     "0100");
    if (hello->extensions) {
        append_number(body, strlen(hello->extensions) / 2, 2);
        append_hex(body, hello->extensions);
    }
    append_hex(body, hello->junk);
    append_number(message, 1, 1);
    append_number(message, body->len, 3);
    g_byte_array_append(message, body->data, body->len);
    g_byte_array_unref(body);
    return message;
}

static GByteArray *build(const struct hello *hello)
{
    GByteArray *message = build_message(hello), *records = g_byte_array_new();
    guint at = 0;

    while (at < message->len) {
        guint here = MIN(message->len - at,
                         hello->record ? (guint)hello->record : message->len);

        append_hex(records, "160301");
        append_number(records, here, 2);
        g_byte_array_append(records, message->data + at, here);
        at += here;
    }
    g_byte_array_set_size(records, records->len - (guint)hello->cut);
    g_byte_array_unref(message);
    return records;
}

/* Judge the hello by the check "web". */
static struct result judge_hello(const struct hello *hello)
{
    GByteArray *bytes = build(hello);
    struct result result = judge(GUEST_CHECK_WEB, (const char *)bytes->data,
                                 bytes->len);

    g_assert_cmpuint(result.passed, ==,
                     result.check.protocol == GUEST_CHECK_PASSED ? bytes->len
                                                                 : 0);
    g_byte_array_unref(bytes);
    return result;
}

static char *hex_of(const char *text)
{
    GString *hex = g_string_new(NULL);

    for (; *text; text++)
        g_string_append_printf(hex, "%02x", (unsigned char)*text);
    return g_string_free(hex, FALSE);
}

/* The extension server_name with one name. */
static char *sni(const char *name)
{
    g_autofree char *hex = hex_of(name);
    size_t length = strlen(name);

    return g_strdup_printf("0000%04zx%04zx00%04zx%s", length + 5, length + 3,
                           length, hex);
}

#define VERSIONS "002b0003020304"

static void test_good_hellos(void)
{
    g_autofree char *name = sni(NAME), *mixed = sni("API.example.Org.");
    g_autofree char *more = g_strconcat("0a0a0000", name, VERSIONS, NULL);
    const struct hello hellos[] = {
        { .extensions = name },
        { .extensions = mixed },
        { .extensions = more },
        { .extensions = more, .record = 1 },
        { .extensions = more, .record = 7 },
        { .extensions = more, .record = 60 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(hellos); i++) {
        struct result result = judge_hello(&hellos[i]);

        if (result.check.protocol != GUEST_CHECK_PASSED)
            g_error("hello %zu: %s", i, result.check.refusal.reason);
    }
}

static void test_bad_hellos(void)
{
    g_autofree char *name = sni(NAME), *other = sni("evil.example");
    g_autofree char *empty = sni(""), *below = sni("x." NAME);
    g_autofree char *two = g_strconcat(name, VERSIONS, name, NULL);
    g_autofree char *both = g_strconcat(name, other, NULL);
    g_autofree char *ech = g_strconcat(name, "fe0d000100", NULL);
    g_autofree char *ech_first = g_strconcat("fe0d0000", name, NULL);
    g_autofree char *draft = g_strconcat(name, "fe080000", NULL);
    g_autofree char *esni = g_strconcat(name, "ffce0000", NULL);
    g_autofree char *long_one = g_strconcat(name, "00ff0005aabb", NULL);
    g_autofree char *odd = g_strconcat(name, "00ff00", NULL);
    g_autofree char *with_nul = g_strdup(name);
    const struct {
        struct hello hello;
        const char *reason;
    } cases[] = {
        { { .extensions = NULL }, "no server name" },
        { { .extensions = "" }, "no server name" },
        { { .extensions = VERSIONS }, "no server name" },
        { { .extensions = other }, "another server name" },
        { { .extensions = other, .record = 1 }, "another server name" },
        { { .extensions = below }, "another server name" },
        { { .extensions = empty }, "another server name" },
        { { .extensions = with_nul }, "another server name" },
        { { .extensions = two }, "one server name" },
        { { .extensions = both }, "one server name" },
        /* One extension with two names, or another kind of name. */
        { { .extensions = "0000000a0008"
                          "000001610000"
                          "0162" },
          "one server name" },
        { { .extensions = "000000060004"
                          "01000161" },
          "one server name" },
        { { .extensions = "00000002"
                          "0000" },
          "malformed" },
        { { .extensions = "00000007"
                          "0004"
                          "0000016100" },
          "malformed" },
        { { .extensions = "000000060004"
                          "00000261" },
          "malformed" },
        { { .extensions = "00000000" }, "malformed" },
        { { .extensions = ech }, "ECH" },
        { { .extensions = ech_first }, "ECH" },
        { { .extensions = draft }, "ECH" },
        { { .extensions = esni }, "ECH" },
        { { .extensions = long_one }, "malformed" },
        { { .extensions = odd }, "malformed" },
        { { .extensions = name, .junk = "00" }, "malformed" },
    };

    /* "api.example.org" with a NUL. */
    memcpy(with_nul + strlen(with_nul) - 8, "00", 2);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct result result = judge_hello(&cases[i].hello);

        if (result.ok || !strstr(result.check.refusal.reason, cases[i].reason))
            g_error("hello %zu: %s", i, result.check.refusal.reason);
    }
}

static void test_a_truncated_hello_waits(void)
{
    g_autofree char *name = sni(NAME);
    struct hello hello = { .extensions = name, .record = 20 };
    GByteArray *whole = build(&hello);

    for (hello.cut = 1; hello.cut < whole->len; hello.cut++) {
        struct result result = judge_hello(&hello);

        g_assert_true(result.ok);
        g_assert_cmpuint(result.passed, ==, 0);
        g_assert_false(guest_check_end(&result.check, (const char *)whole->data,
                                       whole->len - hello.cut));
    }
    g_byte_array_unref(whole);
}

static void expect_bad_records(const char *hex, const char *reason)
{
    GByteArray *bytes = g_byte_array_new();
    struct result result;

    append_hex(bytes, hex);
    result = judge(GUEST_CHECK_WEB, (const char *)bytes->data, bytes->len);
    if (result.ok || !strstr(result.check.refusal.reason, reason))
        g_error("%s: %s", hex, result.check.refusal.reason);
    g_byte_array_unref(bytes);
}

static void test_bad_records(void)
{
    expect_bad_records("1603010000", "malformed");     /* empty */
    expect_bad_records("160301ffff", "malformed");     /* > 2^14 */
    expect_bad_records("160305", "malformed");         /* version */
    expect_bad_records("16030100040200", "malformed"); /* not a ClientHello */
    expect_bad_records("16030100050100000100", "malformed"); /* short */
    expect_bad_records("16030100040100ffff16", "too long");
    expect_bad_records("1603010004010000ff150301", "malformed"); /* alert */
    expect_bad_records("160301000601000001aabb", "malformed"); /* more in it */
}

static void test_a_hello_has_at_most_16_KiB(void)
{
    g_autofree char *name = sni(NAME);
    GString *extensions = g_string_new(name);
    struct hello hello = { .record = 1000 };

    g_string_append(extensions, "00154000"); /* padding, 16 KiB */
    for (int i = 0; i < 1 << 14; i++)
        g_string_append(extensions, "00");
    hello.extensions = extensions->str;
    g_assert_nonnull(
        strstr(judge_hello(&hello).check.refusal.reason, "too long"));
    g_string_free(extensions, TRUE);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tls/good hellos pass", test_good_hellos);
    g_test_add_func("/tls/bad hellos are refused", test_bad_hellos);
    g_test_add_func("/tls/a truncated hello waits",
                    test_a_truncated_hello_waits);
    g_test_add_func("/tls/bad records are refused", test_bad_records);
    g_test_add_func("/tls/a hello has at most 16 KiB",
                    test_a_hello_has_at_most_16_KiB);
    return g_test_run();
}
