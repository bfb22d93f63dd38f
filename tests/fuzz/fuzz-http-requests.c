/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-http-requests - a hostile guest's bytes in the check of a connection
 * (guest_check.h, http_requests.h).
 *
 * The first byte's bits: 0-1 the kind of check; 2 the server answers an upgrade
 * with 101, else with 200. The result must not depend on how the bytes are
 * divided. A separate, naive reader must find nothing but requests for the name
 * in what has passed as HTTP.
 */
#include <glib.h>
#include <string.h>

#include "proxy/guest_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAME "api.example.org"
#define PORT 80

struct result {
    bool ok;
    size_t passed;
    struct guest_check check;
};

static void offer(struct result *result, const char *data, size_t length)
{
    /* A buffer of the exact size, for the sanitizer. */
    char *copy = g_memdup2(data + result->passed, length - result->passed);
    size_t passed = 0;

    if (length > result->passed)
        result->ok = guest_check_judge(&result->check, copy,
                                       length - result->passed, &passed);
    g_assert_cmpuint(passed, <=, length - result->passed);
    result->passed += passed;
    g_free(copy);
}

static struct result run(uint8_t bits, const char *data, size_t size,
                         size_t step)
{
    const char *answer = bits & 4 ? "HTTP/1.1 101 x" : "HTTP/1.1 200 x";
    struct result result = { .ok = true };

    guest_check_init(&result.check, (enum guest_check_kind)((bits & 3) % 3),
                     NAME, PORT);
    for (size_t at = 0; result.ok && at < size;) {
        at = MIN(size, at + step);
        offer(&result, data, at);
        if (result.ok && guest_check_waits(&result.check) &&
            guest_check_hear(&result.check, answer, strlen(answer)))
            offer(&result, data, at);
    }
    return result;
}

/* Find the first head, by its empty line, and its Host. */
static void check_head(const char *data, size_t passed)
{
    g_autofree char *text = g_strndup(data, passed);
    g_autofree char *lower = g_ascii_strdown(text, -1);
    char *end = strstr(lower, "\r\n\r\n"), *host;

    g_assert_nonnull(end);
    *end = '\0';
    host = strstr(lower, "\r\nhost:");
    g_assert_nonnull(host);
    g_assert_null(strstr(host + 2, "\r\nhost:"));
    host += 7;
    host += strspn(host, " \t");
    g_assert_true(g_str_has_prefix(host, NAME));
    host += strlen(NAME);
    host += *host == '.';
    g_assert_true(*host == '\0' || strchr(" \t\r:", *host));
    g_assert_false(g_str_has_prefix(lower, "connect "));
    g_assert_true(!strstr(lower, "\r\ncontent-length:") ||
                  !strstr(lower, "\r\ntransfer-encoding:"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    struct result all, bytes, threes;

    if (size < 2)
        return 0;
    all = run(data[0], text, size - 1, size - 1);
    bytes = run(data[0], text, size - 1, 1);
    threes = run(data[0], text, size - 1, 3);
    g_assert_cmpint(all.ok, ==, bytes.ok);
    g_assert_cmpint(all.ok, ==, threes.ok);
    g_assert_cmpuint(all.passed, ==, bytes.passed);
    g_assert_cmpuint(all.passed, ==, threes.passed);
    g_assert_cmpint(all.check.protocol, ==, bytes.check.protocol);
    g_assert_cmpint(all.check.protocol, ==, threes.check.protocol);
    if (all.check.protocol == GUEST_CHECK_HTTP && all.passed > 0)
        check_head(text, all.passed);
    return 0;
}
