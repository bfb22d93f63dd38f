/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-client-hello - a hostile guest's first bytes in the reader of a
 * ClientHello (tls_hello.h).
 *
 * The verdict at each byte is compared: once reached, it stays, and equals that
 * about all bytes at once. What passes has the name in it.
 */
#include <glib.h>
#include <string.h>

#include "proxy/tls_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAME "api.example.org"

/* Each length is a read of all bytes before: longer inputs take too long. */
enum { BY_BYTES = 2048 };

static enum tls_hello_verdict judge(const uint8_t *data, size_t size,
                                    struct refusal *refusal)
{
    /* A buffer of the exact size, for the sanitizer. */
    uint8_t *copy = g_memdup2(data, size);
    enum tls_hello_verdict verdict;

    *refusal = (struct refusal){ 0 };
    verdict = tls_hello_judge(copy, size, NAME, refusal);
    g_assert_true((verdict == TLS_HELLO_REFUSED) == (refusal->reason != NULL));
    g_assert_cmpuint(strlen(refusal->other), <, HOST_NAME_ROOM);
    g_free(copy);
    return verdict;
}

/* Return whether the name is there in any case, across records. */
static bool has_name(const uint8_t *data, size_t size)
{
    g_autoptr(GByteArray) message = g_byte_array_new();

    for (size_t at = 0; at + 5 <= size;) {
        size_t length = (size_t)data[at + 3] << 8 | data[at + 4];

        at += 5;
        length = MIN(length, size - at);
        g_byte_array_append(message, data + at, (guint)length);
        at += length;
    }
    for (size_t at = 0; at + strlen(NAME) <= message->len; at++) {
        if (g_ascii_strncasecmp((const char *)message->data + at, NAME,
                                strlen(NAME)) == 0)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct refusal refusal, then;
    enum tls_hello_verdict all = judge(data, size, &refusal), verdict;

    g_assert_true(all != TLS_HELLO_MORE || size < TLS_HELLO_MAX);
    g_assert_true(all != TLS_HELLO_PASSED ||
                  has_name(data, MIN(size, TLS_HELLO_MAX)));
    for (size_t length = 0; length <= size && size <= BY_BYTES; length++) {
        verdict = judge(data, length, &then);
        if (verdict == TLS_HELLO_MORE) {
            g_assert_true(length < size || all == TLS_HELLO_MORE);
            continue;
        }
        g_assert_cmpint(verdict, ==, all);
        g_assert_cmpstr(then.other, ==, refusal.other);
        break;
    }
    return 0;
}
