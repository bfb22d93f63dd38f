/* SPDX-License-Identifier: Apache-2.0
 *
 * crc32c - see crc32c.h.
 */
#include "common/crc32c.h"

#include <glib.h>

#define POLYNOMIAL 0x82f63b78u /* reflected */

static const uint32_t *table(void)
{
    static uint32_t entries[256];
    static gsize ready;

    if (g_once_init_enter(&ready)) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t crc = i;

            for (int bit = 0; bit < 8; bit++)
                crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
            entries[i] = crc;
        }
        g_once_init_leave(&ready, 1);
    }
    return entries;
}

uint32_t crc32c(const void *data, size_t len)
{
    const uint32_t *entries = table();
    const uint8_t *p = data;
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < len; i++)
        crc = (crc >> 8) ^ entries[(crc ^ p[i]) & 0xff];
    return ~crc;
}
