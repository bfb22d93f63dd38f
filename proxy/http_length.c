/* SPDX-License-Identifier: Apache-2.0
 *
 * http_length - see http_length.h.
 */
#include "proxy/http_length.h"

#include <glib.h>

static bool parse(const char *text, size_t len, unsigned base, size_t max,
                  uint64_t *ret_length)
{
    uint64_t length = 0;

    if (len == 0 || len > max)
        return false;
    for (size_t i = 0; i < len; i++) {
        int digit = g_ascii_xdigit_value(text[i]);

        if (digit < 0 || digit >= (int)base)
            return false;
        length = length * base + (unsigned)digit;
    }
    *ret_length = length;
    return true;
}

bool http_length_parse(const char *text, size_t len, uint64_t *ret_length)
{
    return parse(text, len, 10, HTTP_LENGTH_DIGITS, ret_length);
}

bool http_length_parse_chunk(const char *text, size_t len, uint64_t *ret_length)
{
    return parse(text, len, 16, HTTP_CHUNK_DIGITS, ret_length);
}
