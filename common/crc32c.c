/* SPDX-License-Identifier: Apache-2.0
 *
 * crc32c - see crc32c.h.
 */
#include "common/crc32c.h"

#include <glib.h>
#include <string.h>

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

uint32_t crc32c_portable(const void *data, size_t len)
{
    const uint32_t *entries = table();
    const uint8_t *p = data;
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < len; i++)
        crc = (crc >> 8) ^ entries[(crc ^ p[i]) & 0xff];
    return ~crc;
}

#ifdef __x86_64__

/* Content is checksummed on the path of a write: one byte per step, as in the
 * table version, is an order of magnitude slower than the disk's cache. */
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(const void *data,
                                                               size_t len)
{
    const uint8_t *p = data;
    uint64_t crc = 0xffffffff;

    for (; len >= sizeof(uint64_t); len -= sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, p, sizeof(word));
        crc = __builtin_ia32_crc32di(crc, word);
        p += sizeof(word);
    }
    for (; len > 0; len--)
        crc = __builtin_ia32_crc32qi((uint32_t)crc, *p++);
    return ~(uint32_t)crc;
}

uint32_t crc32c(const void *data, size_t len)
{
    return __builtin_cpu_supports("sse4.2") ? crc32c_sse42(data, len)
                                            : crc32c_portable(data, len);
}

#else

uint32_t crc32c(const void *data, size_t len)
{
    return crc32c_portable(data, len);
}

#endif
