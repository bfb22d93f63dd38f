/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8 - see utf8.h.
 */
#include "shim/utf8.h"

/* Length of the character that this byte leads, or 0 if it leads none. */
static size_t lead_length(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 2;
    if (lead >= 0xe0 && lead <= 0xef)
        return 3;
    if (lead >= 0xf0 && lead <= 0xf4)
        return 4;
    return 0;
}

/* The second byte carries the limits that forbid overlong forms, surrogates
 * and what lies beyond U+10FFFF. */
static bool second_fits(unsigned char lead, unsigned char second)
{
    unsigned char low = 0x80, high = 0xbf;

    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    return second >= low && second <= high;
}

/* True if the first have bytes of a character led by at[0] are right. */
static bool fits_so_far(const unsigned char *at, size_t have)
{
    if (have >= 2 && !second_fits(at[0], at[1]))
        return false;
    for (size_t i = 2; i < have; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return false;
    }
    return true;
}

bool utf8_valid(const char *bytes, size_t length)
{
    const unsigned char *at = (const unsigned char *)bytes;
    const unsigned char *end = at + length;

    while (at < end) {
        size_t need = lead_length(*at);

        if (need == 0 || need > (size_t)(end - at) || !fits_so_far(at, need))
            return false;
        at += need;
    }
    return true;
}

size_t utf8_incomplete_tail(const char *bytes, size_t length)
{
    const unsigned char *end = (const unsigned char *)bytes + length;

    for (size_t have = 1; have <= 3 && have <= length; have++) {
        size_t need = lead_length(end[-(long)have]);

        if (need == 0)
            continue; /* inside a character: look further back */
        return need > have && fits_so_far(end - have, have) ? have : 0;
    }
    return 0;
}
