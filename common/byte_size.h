/* SPDX-License-Identifier: Apache-2.0
 *
 * byte_size - a number of bytes as people write it: 512, 64K, 2G.
 */
#ifndef COMMON_BYTE_SIZE_H
#define COMMON_BYTE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* A number from 1, with K, M, G or T (of 1024) after it, of either case. False:
 * the text is none, or too large. */
bool byte_size_parse(const char *text, int64_t *ret_bytes);

#endif
