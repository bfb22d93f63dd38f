/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8 - see utf8.h.
 */
#include "shim/utf8.h"

#include <stdint.h>

/* The range of a lead byte, the length that it announces, and the range of the
 * second byte, which is narrower than 80..BF to exclude overlong forms,
 * surrogates and code points above U+10FFFF. */
static const struct lead {
    uint8_t first, last, length, second_min, second_max;
} leads[] = {
    { 0x00, 0x7f, 1, 0, 0 },       { 0xc2, 0xdf, 2, 0x80, 0xbf },
    { 0xe0, 0xe0, 3, 0xa0, 0xbf }, { 0xe1, 0xec, 3, 0x80, 0xbf },
    { 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf },
    { 0xf0, 0xf0, 4, 0x90, 0xbf }, { 0xf1, 0xf3, 4, 0x80, 0xbf },
    { 0xf4, 0xf4, 4, 0x80, 0x8f },
};

static const struct lead *lead_find(uint8_t byte)
{
    for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
        if (byte >= leads[i].first && byte <= leads[i].last)
            return &leads[i];
    }
    return NULL;
}

int utf8_measure(const void *data, size_t len)
{
    const uint8_t *bytes = data;
    const struct lead *lead = lead_find(bytes[0]);

    if (!lead)
        return 0;
    for (size_t i = 1; i < lead->length; i++) {
        uint8_t min = i == 1 ? lead->second_min : 0x80;
        uint8_t max = i == 1 ? lead->second_max : 0xbf;

        if (i == len)
            return -1;
        if (bytes[i] < min || bytes[i] > max)
            return 0;
    }
    return lead->length;
}

size_t utf8_cut_tail(const void *data, size_t len)
{
    const uint8_t *bytes = data;

    for (size_t back = 1; back <= 3 && back <= len; back++) {
        uint8_t byte = bytes[len - back];

        if (byte >= 0xc0)
            return utf8_measure(bytes + len - back, back) < 0 ? back : 0;
        if (byte < 0x80)
            return 0;
    }
    return 0;
}
