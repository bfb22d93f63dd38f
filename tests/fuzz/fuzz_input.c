/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_input - see fuzz_input.h.
 */
#include "tests/fuzz/fuzz_input.h"

#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST_SMALL = 32, FIRST_LONG = 200 };

static const uint64_t numbers[FIRST_SMALL] = {
    0,
    1,
    2,
    3,
    8,
    100,
    4095,
    4096, /* 7 */
    4097,
    65536,
    131072,
    1 << 20, /* 11 */
    INT32_MAX,
    UINT32_MAX,
    1ull << 32,
    INT64_MAX - 1, /* 15 */
    INT64_MAX,
    1ull << 63,
    UINT64_MAX,
    UINT64_MAX - 1, /* 19 */
    O_RDWR | O_TRUNC,
    O_RDWR | O_EXCL,
    O_RDWR | O_APPEND,
    S_IFREG | 0644, /* 23 */
    S_IFIFO | 0644,
    S_IFCHR | 0666,
    S_ISUID | 0755,
    S_IFDIR | 0755, /* 27 */
    S_IFLNK | 0777,
    32768,
    1ull << 40,
    16, /* 31 */
};

uint8_t fuzz_input_byte(struct fuzz_input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++;
}

const uint8_t *fuzz_input_bytes(struct fuzz_input *input, size_t *size)
{
    const uint8_t *at = input->at;

    *size = MIN(*size, input->left);
    input->at += *size;
    input->left -= *size;
    return at;
}

uint64_t fuzz_input_number(struct fuzz_input *input)
{
    uint8_t first = fuzz_input_byte(input);
    uint64_t number = 0;
    size_t size = sizeof(number);
    const uint8_t *bytes;

    if (first < FIRST_SMALL)
        return numbers[first];
    if (first < FIRST_LONG)
        return first - FIRST_SMALL;
    bytes = fuzz_input_bytes(input, &size);
    memcpy(&number, bytes, size);
    return number;
}
