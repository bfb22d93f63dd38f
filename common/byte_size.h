/* SPDX-License-Identifier: Apache-2.0
 *
 * byte_size - parses numbers of bytes as users write them: 512, 64K, 2G.
 */
#ifndef COMMON_BYTE_SIZE_H
#define COMMON_BYTE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* Parse a number from 1, with an optional suffix K, M, G or T (powers of 1024)
 * in either case. Return false if the text is malformed or the number too
 * large. */
bool byte_size_parse(const char *text, int64_t *ret_bytes);

#endif
