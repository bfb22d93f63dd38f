/* SPDX-License-Identifier: Apache-2.0
 *
 * size - numbers of bytes as people write them: "200M".
 */
#ifndef COMMON_SIZE_H
#define COMMON_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* A number from 1, with K, M, G or T (powers of 1024, also in small letters) if
 * you like. */
bool size_parse(const char *text, int64_t *ret_bytes);

#endif
