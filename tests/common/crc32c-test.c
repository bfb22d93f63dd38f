/* SPDX-License-Identifier: Apache-2.0
 *
 * crc32c-test - the checksum of log records, in both implementations.
 */
#include <glib.h>
#include <string.h>

#include "common/crc32c.h"

/* RFC 3720, appendix B.4, and the check value of the CRC catalogues. */
static void test_known(void)
{
    uint8_t data[32];

    g_assert_cmphex(crc32c("123456789", 9), ==, 0xe3069283);
    g_assert_cmphex(crc32c("", 0), ==, 0);
    memset(data, 0, sizeof(data));
    g_assert_cmphex(crc32c(data, sizeof(data)), ==, 0x8a9136aa);
    memset(data, 0xff, sizeof(data));
    g_assert_cmphex(crc32c(data, sizeof(data)), ==, 0x62a8ab43);
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)i;
    g_assert_cmphex(crc32c(data, sizeof(data)), ==, 0x46dd794e);
}

/* A log written on one processor is read on another. */
static void test_both_ways(void)
{
    uint8_t data[300];

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7 + (i >> 3));
    for (size_t from = 0; from < 16; from++) {
        for (size_t len = 0; from + len <= sizeof(data); len++)
            g_assert_cmphex(crc32c(data + from, len), ==,
                            crc32c_portable(data + from, len));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/crc32c/known", test_known);
    g_test_add_func("/crc32c/both-ways", test_both_ways);
    return g_test_run();
}
